#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "device/device.h"
#include "gpu/program/gpu_cell.h"
#include "gpu/queue/probe_inputs.h"
#include "gpu/queue/queue_context.h"

namespace volvox::gpu {

// A freshly compiled cell meets the device for the first time: products are planned, every batch size is
// captured and run, which is also the warm-up, and where there are two ways to run it the faster one is kept,
// for good where there is a ChoiceCache.
// Rows read and write slots and read inputs of their own, as those of requests do: the cell's pools must not
// be in use yet.
class LoadProbe {
 public:
  // `compiled` is `cell` on the device. `measure` off: runs everything once, but guesses what it costs.
  static Result<LoadProbe> make(std::shared_ptr<Driver> driver, InputArena& inputs, const Cell& cell,
                                const Weights& weights, GpuCell& compiled, bool measure);

  Result<CompiledCell> run();

 private:
  LoadProbe(std::unique_ptr<QueueContext> context, ProbeInputs inputs, GpuCell& cell, bool measure)
      : context_(std::move(context)), inputs_(std::move(inputs)), cell_(cell), measure_(measure) {}
  Result<double> time_us(std::uint32_t rows);
  Result<double> best_us(std::uint32_t rows);
  // Gives the queue so many tasks in line, and waits for them.
  Status run(std::uint32_t rows, std::uint32_t tasks);
  RowBinding scattered(std::uint32_t rows) const;
  void add_ragged(Task& task) const;
  double guess_us(std::uint32_t rows) const;
  bool takes_fused(std::uint32_t rows, bool faster) const;

  std::unique_ptr<QueueContext> context_;
  ProbeInputs inputs_;
  GpuCell& cell_;
  bool measure_;
  TaskSeq seq_ = 0;
};

}  // namespace volvox::gpu
