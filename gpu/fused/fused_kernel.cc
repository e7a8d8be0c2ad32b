#include "gpu/fused/fused_kernel.h"

#include <utility>

namespace volvox::gpu {

Result<std::optional<FusedCall>> plan_fused(PlanLeaves& leaves) {
  const auto all = fused_kernels();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    auto step = all[i]->plan(leaves);
    if (!step) return tl::unexpected(step.error());
    if (*step) return FusedCall{i, std::move(*step), {}};
  }
  return std::nullopt;
}

}  // namespace volvox::gpu
