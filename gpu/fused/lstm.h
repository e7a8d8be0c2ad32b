#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/fused/fused_kernel.h"
#include "gpu/fused/lstm_step.h"

namespace volvox::gpu {

class PlanLeaves;

// What the kernels for LSTMs differ in, as far as the host is concerned.
struct LstmLayout {
  std::uint32_t unit_multiple = 1, width_multiple = 1;  // of units and of the width of each operand
  bool narrow = false;   // operands are read in 16 bits, as they lie in memory; else float32, and rounded
  bool sources = false;  // rows of operands, old c and start are found before the kernel runs
  // Which element of the packed weights is the factor of operand `k` of `width` for this gate of this unit,
  // and how many elements there are in all.
  std::uint64_t (*element)(std::uint32_t width, std::uint32_t unit, std::uint32_t gate,
                           std::uint32_t k) = nullptr;
  std::uint64_t (*elements)(std::uint32_t width, std::uint32_t units) = nullptr;
};
// Of the kernel for all GPUs (lstm.cuh): [unit block][k][kLstmColumns], gates of a block's units side by
// side, zero where there is no unit.
extern const LstmLayout kLstmLayout;

// A step of an LSTM, or of the core of a split one, whose operands lie in planes, inputs or tables, on tensor
// cores (not in float32 precision).
class LstmStep final : public FusedStep {
 public:
  explicit LstmStep(const LstmCall& call, const LstmLayout& layout = kLstmLayout)
      : call_(call), layout_(layout) {}

  std::string shape() const override;
  std::vector<Place> sources() const override;
  void run_on_host(const FusedTask& task) const override;
  LstmCall call(const FusedTask& task) const;

 private:
  const LstmCall call_;  // its task left open
  const LstmLayout& layout_;
};

// The step of the cell for kernels of this layout, which must outlive it; null when the cell is not such an
// LSTM, or does not fit.
Result<std::shared_ptr<const FusedStep>> plan_lstm(PlanLeaves& leaves, const LstmLayout& layout);

}  // namespace volvox::gpu
