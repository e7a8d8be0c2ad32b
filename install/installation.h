#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "batching/request.h"
#include "batching/scheduler_config.h"
#include "cells/model/model.h"
#include "device/device.h"
#include "install/session_rows.h"

namespace volvox {

struct InstallOptions {
  std::uint32_t slots = 0;                // rows of every pool, reserved ones included; 0: by the budget
  std::uint64_t pool_bytes = 1ULL << 30;  // budget for the pools of all models together
  std::uint32_t live_requests = 4096;     // the budget buys no more than so many requests' slots
  std::uint32_t max_batch = 0;            // instead of the models' own; 0: theirs. Types whose steps are
                                          // independent keep theirs if it is larger
  std::uint32_t max_models = 1U << 16;    // that may be installed at once
  std::uint32_t max_types = 1U << 16;     // cell types of all of them are numbered below this
  std::uint32_t session_places = 0;       // sessions of each model with a state on the device, as far as
                                          // half of the model's share of the budget buys their rows
};

// A model on the devices of a process: its numbers within the process are first_* plus its own.
struct InstalledModel {
  std::shared_ptr<const Model> model;
  std::uint64_t serial = 0;  // never used again, as the other numbers may be
  ModelId id = 0;
  CellTypeId first_type = 0;
  PoolId first_pool = 0;
  LanePlan plan;                       // with process-wide numbers; requests point to it
  std::vector<CompiledCell> compiled;  // by the model's own type number; as the first device has them
  ModelParts parts;                    // what the scheduler must know
  std::uint64_t pool_bytes = 0;        // of state memory, on each device
  SessionRows sessions;

  double step_us = 0;  // estimated: one request's step, its share of a full batch

  double flops_per_step() const;  // useful ones of one step: all lanes together
};

// What SchedulerConfig needs to know of the models on one device. Pointers to the models stay valid.
struct Installation {
  std::vector<std::unique_ptr<InstalledModel>> models;
  std::vector<TypeConfig> types;
  std::vector<PoolConfig> pools;
  std::vector<ModelConfig> model_configs;
};

// Puts models on the device that stay there, each with the same share of the budget (install/installer.h),
// and collects what the scheduler must know. The error names the model.
Result<Installation> install(Device& device, std::span<const std::shared_ptr<const Model>> models,
                             const InstallOptions& options);

// A scheduler's configuration for the installation, its other fields as they are by default.
SchedulerConfig scheduler_config(const Installation& installation, std::uint32_t workers);

// Results of a request of these lengths lie in one block: output i begins at result_offset(), which is a
// multiple of 64, and has result_rows() rows.
std::size_t output_bytes(const InstalledModel& model, const Lengths& lengths);
std::size_t result_offset(const InstalledModel& model, const Lengths& lengths, std::size_t output);
std::size_t result_rows(const InstalledModel& model, const Lengths& lengths, std::size_t output);

// Cells that a request of these lengths runs.
std::uint64_t cells_of(const InstalledModel& model, const Lengths& lengths);
// As many steps of all lanes together, or nodes, as that comes to, rounded up: what `step_us` is the cost of.
std::uint32_t steps_of(const InstalledModel& model, const Lengths& lengths);

// Bytes of one row of an input or output.
std::size_t row_bytes(const InputSpec& input);
std::size_t row_bytes(const OutputSpec& output);

// A request of a structure that the model's unfolding has checked, and found to have these lengths: row t of
// input i is at inputs[i] + t · row_bytes; the results go to the block at `results`. `inputs` has an address
// for each of the model's inputs. INVALID_ARGUMENT: it unfolds into more than may be.
Result<Request> unfolded_request(const InstalledModel& model, const Structure& structure,
                                 const Lengths& lengths, std::span<const DeviceAddress> inputs,
                                 DeviceAddress results);
// One that runs in the model's lanes.
Request lane_request(const InstalledModel& model, const Lengths& lengths,
                     std::span<const DeviceAddress> inputs, DeviceAddress results);

}  // namespace volvox
