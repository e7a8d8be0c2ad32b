#include "gpu/program/cell_plan.h"

#include <cstring>

#include "gpu/kernels/half.h"
#include "gpu/program/cell_planner.h"

namespace volvox::gpu {

Result<CellPlan> plan_cell(PlanLeaves& leaves) {
  return CellPlanner(leaves).run();
}

void store_element(std::byte* to, ElementType type, float value) {
  if (type == ElementType::kF32) {
    std::memcpy(to, &value, sizeof value);
  } else {
    const std::uint16_t half = type == ElementType::kBf16 ? to_bfloat16(value) : to_float16(value);
    std::memcpy(to, &half, sizeof half);
  }
}

std::vector<std::byte> pack_weights(std::span<const Tensor* const> terms, std::uint32_t outputs,
                                    std::uint32_t stride_k, Precision precision) {
  const ElementType type = operand_type(precision);
  const std::size_t size = element_bytes(type);
  std::vector<std::byte> packed(std::size_t{outputs} * stride_k * size);
  for (std::size_t j = 0; j < outputs; ++j) {
    std::byte* to = packed.data() + j * stride_k * size;
    for (const Tensor* term : terms) {
      const auto width = static_cast<std::size_t>(term->shape[1]);
      for (std::size_t k = 0; k < width; ++k, to += size) store_element(to, type, term->f32()[j * width + k]);
    }
  }
  return packed;
}

}  // namespace volvox::gpu
