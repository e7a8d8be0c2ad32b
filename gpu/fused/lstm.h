#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cells/ir/weights.h"
#include "gpu/fused/fused_kernel.h"
#include "gpu/fused/lstm_step.h"

namespace volvox::gpu {

// A step of an LSTM, or of the core of a split one, whose operands lie in planes, inputs or tables, all
// float32, with widths and hidden size a multiple of 32, on tensor cores (not in float32 precision).
class LstmStep final : public FusedStep {
 public:
  explicit LstmStep(const LstmCall& call) : call_(call) {}

  std::string shape() const override;
  void run_on_host(const FusedTask& task) const override;
  LstmCall call(const FusedTask& task) const;

 private:
  const LstmCall call_;  // its task left open
};

// The weights of an LSTM as the kernel reads them: [unit block][k][kLstmColumns], gates of a block's units
// side by side, zero where there is no unit.
std::vector<std::byte> pack_lstm(std::span<const Tensor* const> terms, std::uint32_t units, ElementType type);

}  // namespace volvox::gpu
