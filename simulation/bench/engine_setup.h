#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "cells/model/model.h"
#include "device/device.h"
#include "install/installation.h"
#include "simulation/bench/engine_options.h"

namespace volvox::bench {

// What all measurements of one run share: the device with the model on it, and requests whose inputs lie
// there already. A result of each request is remembered: every later one must have the same bytes, whatever
// policy and batch it ran with.
class EngineSetup {
 public:
  static Result<std::unique_ptr<EngineSetup>> make(const EngineOptions& options, const EnginePlan& plan);

  Device& device() { return *device_; }
  const Installation& installation() const { return installation_; }
  const InstalledModel& model() const { return *installation_.models[0]; }
  Lengths lengths_of(std::uint32_t length) const { return lengths_for(*model().model, length); }
  // The type whose rows are the steps of a request: the last that is not independent.
  CellTypeId core_type() const { return core_type_; }

  std::size_t samples() const { return samples_.size(); }
  std::uint32_t length(std::size_t sample) const { return samples_[sample].length; }
  double mean_length() const;
  Request request(std::size_t sample, DeviceAddress results) const;
  // Blocks that are large enough for any sample's results.
  Result<ResultBlock> results();
  // Whether the results are what this sample's were before.
  bool verify(std::size_t sample, const ResultBlock& results);

 private:
  struct Sample {
    std::uint32_t length = 0;
    std::unique_ptr<InputPages> pages;
    std::uint64_t hash = 0;  // of the results; 0: none yet
  };
  Status make_device(const EngineOptions& options);
  Status install_model(const EngineOptions& options, const EnginePlan& plan);
  Status make_samples(const EngineOptions& options);

  bool verifies_ = true;
  std::unique_ptr<Device> device_;
  Installation installation_;
  CellTypeId core_type_ = 0;
  std::vector<Sample> samples_;
  std::uint32_t longest_ = 0;
};

}  // namespace volvox::bench
