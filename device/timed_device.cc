#include "device/timed_device.h"

#include <algorithm>
#include <string>

#include "device/timed_queue.h"

namespace volvox {

TimedDevice::TimedDevice(TimedCost cost, Capacity capacity)
    : InterpretedDevice({.name = "timed", .capacity = capacity, .sizes = {}, .costs = {}}), cost_(cost) {}

Result<CompiledCell> TimedDevice::compile(CellTypeId type, const Cell& cell, const Weights& weights,
                                          const CompileOptions& options) {
  auto compiled = InterpretedDevice::compile(type, cell, weights, options);
  if (!compiled) return compiled;
  const auto us = [&](std::uint32_t rows) { return cost_.fixed_us + cost_.per_row_us * rows; };
  compiled->costs = {{1, us(1)}};
  if (options.max_batch > 1) compiled->costs.push_back({options.max_batch, us(options.max_batch)});
  compiled->kernel =
      cell.name + (this->cell(type)->cheap() ? ": timed, interpreted" : ": timed, not computed");
  return compiled;
}

Result<std::unique_ptr<Queue>> TimedDevice::open(const QueueConfig& config) {
  return std::make_unique<TimedQueue>(*this, cost_, config);
}

}  // namespace volvox
