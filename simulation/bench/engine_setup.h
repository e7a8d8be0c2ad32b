#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "base/time.h"
#include "cells/model/model.h"
#include "cells/unfold/reference_order.h"
#include "device/device.h"
#include "install/installation.h"
#include "shapes/graphs.h"
#include "shapes/lattices.h"
#include "shapes/random.h"
#include "simulation/bench/engine_options.h"
#include "simulation/chains.h"

namespace volvox::bench {

// So long an engine waits in one turn at most: others have something to do between two.
inline constexpr Duration kLongestTurn = std::chrono::milliseconds(20);

// What all measurements of one run share: the device with the model on it, and requests whose inputs lie
// there already. A result of each request is remembered: every later one must have the same bytes, whatever
// policy and batch it ran with.
class EngineSetup {
 public:
  static Result<std::unique_ptr<EngineSetup>> make(const EngineOptions& options, const EnginePlan& plan);

  Device& device() { return *device_; }
  const Installation& installation() const { return installation_; }
  const InstalledModel& model() const { return *installation_.models[0]; }
  // The type whose rows are the steps of a request: the last that is not independent.
  CellTypeId core_type() const { return core_type_; }

  std::size_t samples() const { return samples_.size(); }
  double mean_length() const;  // steps, or nodes
  // Floating-point operations that the sample's answer needs.
  double flops(std::size_t sample) const;
  double load_seconds() const { return load_seconds_; }  // of the model, with its folded tables
  Result<Request> request(std::size_t sample, DeviceAddress results) const;
  // Whether it takes time to bring inputs to the device, so that each request brings its own (RequestFeed).
  bool brings_inputs() const { return brings_inputs_; }
  // A sample's inputs, brought once more, and a request of those. Any thread.
  Result<std::unique_ptr<InputPages>> bring(std::size_t sample) const;
  Result<Request> request(std::size_t sample, const InputPages& inputs, DeviceAddress results) const;
  // The sample's cells, predecessors first. The setup must outlive it.
  ReferenceOrder reference_order(std::size_t sample) const;
  // Blocks that are large enough for any sample's results.
  Result<ResultBlock> results();
  // Whether the results are what this sample's were before.
  bool verify(std::size_t sample, const ResultBlock& results);

 private:
  struct Sample {
    std::uint32_t length = 0;             // steps, characters of a lattice, nodes of a tree or graph
    std::vector<std::int32_t> parents{};  // of a tree
    LatticeShape lattice{};
    GraphSource::Graph graph{};
    Lengths lengths{};
    std::unique_ptr<InputPages> pages{};
    ChainContent content{};  // kept where requests bring their own
    std::uint64_t hash = 0;  // of the results; 0: none yet
  };
  Status make_device(const EngineOptions& options);
  Status install_model(const EngineOptions& options, const EnginePlan& plan);
  Status make_samples(const EngineOptions& options);
  Status draw_shapes(const EngineOptions& options);
  Status draw_lattices(const EngineOptions& options, const LengthSource& lengths, SeededRandom& random);
  Status draw_trees(const EngineOptions& options, const LengthSource& lengths, SeededRandom& random);
  Status draw_graphs(const EngineOptions& options, const LengthSource& lengths, SeededRandom& random);
  Status stage_sample(Sample& sample, SeededRandom& chance);
  Structure structure(const Sample& sample) const;

  enum class Over : std::uint8_t { kSteps, kTrees, kLattices, kGraphs };

  bool verifies_ = true, brings_inputs_ = false;
  Over over_ = Over::kSteps;  // what a request unfolds over
  std::unique_ptr<Device> device_;
  Installation installation_;
  CellTypeId core_type_ = 0;
  double load_seconds_ = 0;
  std::vector<Sample> samples_;
  const std::shared_ptr<const void> samples_owner_{this, [](const void*) {}};  // it outlives what it stages
  std::optional<GraphSource> graphs_;
  std::size_t result_bytes_ = 0;  // of the largest sample
};

}  // namespace volvox::bench
