#include "device/timed_device.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "device/timed_queue.h"

namespace volvox {
namespace {

// How soon a device that hangs sees that it does not any more.
constexpr Duration kLook = std::chrono::milliseconds(5);

}  // namespace

TimedDevice::TimedDevice(TimedCost cost, std::filesystem::path hangs_while)
    : InterpretedDevice({.name = "timed", .sizes = {}, .costs = {}}),
      cost_(cost),
      hangs_while_(std::move(hangs_while)) {}

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

Status TimedDevice::read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) {
  while (hangs()) std::this_thread::sleep_for(kLook);
  return InterpretedDevice::read_slot(pool, slot, to);
}

// A path that cannot be looked at is no file: then nothing hangs.
bool TimedDevice::hangs() const {
  std::error_code ignored;
  return !hangs_while_.empty() && std::filesystem::exists(hangs_while_, ignored);
}

}  // namespace volvox
