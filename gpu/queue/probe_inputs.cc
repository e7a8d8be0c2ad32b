#include "gpu/queue/probe_inputs.h"

#include <utility>
#include <vector>

#include "cells/ops/ops.h"
#include "gpu/driver/random_fill.h"

namespace volvox::gpu {
namespace {

// Rows of the table that the value chooses from; 0: it chooses none.
std::uint32_t table_rows(const Cell& cell, const Weights& weights, ValueId value) {
  for (const Operator& op : cell.operators) {
    if (!op.is(kEmbedOp) || op.inputs[0] != value) continue;
    const Tensor* table = weights.find(op.weights[0]);
    if (table != nullptr) return static_cast<std::uint32_t>(table->shape[0]);
  }
  return 0;
}

}  // namespace

Result<ProbeInputs> ProbeInputs::make(Driver& driver, const Cell& cell, const Weights& weights,
                                      std::uint32_t rows) {
  ProbeInputs made;
  auto stream = driver.make_stream();
  if (!stream) return tl::unexpected(stream.error());
  Status status;
  for (const Operator& op : cell.operators) {
    if (!op.is(kPullOp) || !status) continue;
    const Value& value = cell.values[op.output];
    Pull& pull = made.pulls_[op.index];
    pull.stride_bytes = static_cast<std::uint32_t>(elements(value.shape) * size_bytes(value.dtype));
    auto memory = DeviceMemory::make(driver, std::size_t{pull.stride_bytes} * rows);
    if (memory) pull.memory = std::move(*memory);
    status = memory ? fill(driver, *stream, pull, rows, table_rows(cell, weights, op.output))
                    : Status(tl::unexpected(memory.error()));
  }
  driver.destroy_stream(*stream);
  if (!status) return tl::unexpected(status.error());
  return made;
}

Status ProbeInputs::fill(Driver& driver, StreamId stream, const Pull& pull, std::uint32_t rows,
                         std::uint32_t ids) {
  const std::uint64_t words = std::uint64_t{pull.stride_bytes} * rows / sizeof(std::uint32_t);
  if (ids == 0)
    return fill_random(driver, stream, pull.memory.address(), words, ElementType::kF32, pull.stride_bytes);
  constexpr std::uint64_t kApart = 2654435761;  // a prime: neighbours choose rows far from each other
  std::vector<std::uint32_t> chosen(words);
  for (std::uint64_t i = 0; i < words; ++i) chosen[i] = static_cast<std::uint32_t>(i * kApart % ids);
  return upload(driver, stream, pull.memory.address(), std::as_bytes(std::span(chosen)));
}

void ProbeInputs::bind(RowBinding& binding, std::uint32_t row) const {
  for (std::size_t p = 0; p < pulls_.size(); ++p) {
    const Pull& pull = pulls_[p];
    if (pull.stride_bytes == 0) continue;
    binding.pulls[p] = {pull.memory.address() + std::uint64_t{row} * pull.stride_bytes,
                        static_cast<std::int32_t>(pull.stride_bytes)};
  }
}

}  // namespace volvox::gpu
