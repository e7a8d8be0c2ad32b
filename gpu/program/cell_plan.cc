#include "gpu/program/cell_plan.h"

#include "device/host_memory.h"
#include "gpu/kernels/place.h"
#include "gpu/program/cell_planner.h"

namespace volvox::gpu {

Result<CellPlan> plan_cell(PlanLeaves& leaves) {
  return CellPlanner(leaves).run();
}

void write_operand(std::byte* to, ElementType type, float value) {
  store_bits(address_of(to), type, bits_of(value));
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
      for (std::size_t k = 0; k < width; ++k, to += size) write_operand(to, type, term->f32()[j * width + k]);
    }
  }
  return packed;
}

}  // namespace volvox::gpu
