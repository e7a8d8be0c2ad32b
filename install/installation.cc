#include "install/installation.h"

#include <algorithm>
#include <utility>

#include "cells/unfold/unfolding.h"
#include "install/installer.h"

namespace volvox {
namespace {

constexpr std::size_t kAlign = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

double InstalledModel::flops_per_step() const {
  double flops = 0;
  for (const LaneSpec& lane : model->plan.lanes) flops += compiled[lane.type].flops_per_row;
  return flops;
}

Result<Installation> install(Device& device, std::span<const std::shared_ptr<const Model>> models,
                             const InstallOptions& options) {
  if (models.empty()) return invalid("there is no model to install");
  Installer installer({&device}, options);
  Installation made;
  for (const auto& model : models) {
    auto installed = installer.add(model, {.pool_bytes = options.pool_bytes / models.size()});
    if (!installed) return tl::unexpected(installed.error());
    const ModelParts& parts = (*installed)->parts;
    made.types.insert(made.types.end(), parts.types.begin(), parts.types.end());
    made.pools.insert(made.pools.end(), parts.pools.begin(), parts.pools.end());
    made.model_configs.push_back(parts.config);
    made.models.push_back(std::move(*installed));
  }
  return made;
}

SchedulerConfig scheduler_config(const Installation& installation, std::uint32_t workers) {
  SchedulerConfig config;
  config.types = installation.types;
  config.pools = installation.pools;
  config.models = installation.model_configs;
  config.workers = workers;
  return config;
}

std::size_t row_bytes(const InputSpec& input) {
  return static_cast<std::size_t>(elements(input.shape)) * size_bytes(input.dtype);
}

std::size_t row_bytes(const OutputSpec& output) {
  return static_cast<std::size_t>(elements(output.shape)) * size_bytes(output.dtype);
}

std::size_t result_rows(const InstalledModel& model, const Lengths& lengths, std::size_t output) {
  const OutputSpec& spec = model.model->outputs[output];
  return spec.every ? lengths[spec.sequence] : 1;
}

std::size_t result_offset(const InstalledModel& model, const Lengths& lengths, std::size_t output) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < output; ++i) {
    offset += aligned(row_bytes(model.model->outputs[i]) * result_rows(model, lengths, i));
  }
  return offset;
}

std::size_t output_bytes(const InstalledModel& model, const Lengths& lengths) {
  return result_offset(model, lengths, model.model->outputs.size());
}

std::uint64_t cells_of(const InstalledModel& model, const Lengths& lengths) {
  return model.model->unfolding->cells(*model.model, lengths);
}

std::uint32_t steps_of(const InstalledModel& model, const Lengths& lengths) {
  const std::uint64_t each = std::max<std::size_t>(model.plan.lanes.size(), 1);
  return static_cast<std::uint32_t>((cells_of(model, lengths) + each - 1) / each);
}

static PullSource input_rows(const InstalledModel& model, std::span<const DeviceAddress> inputs,
                             std::size_t number) {
  return {inputs[number], static_cast<std::int32_t>(row_bytes(model.model->inputs[number]))};
}

static PushTarget output_rows(const InstalledModel& model, const Lengths& lengths, DeviceAddress results,
                              std::size_t number) {
  return {results + result_offset(model, lengths, number),
          static_cast<std::int32_t>(row_bytes(model.model->outputs[number]))};
}

Request lane_request(const InstalledModel& model, const Lengths& lengths,
                     std::span<const DeviceAddress> inputs, DeviceAddress results) {
  Request request;
  request.model = model.id;
  request.plan = &model.plan;
  request.lengths = lengths;
  for (std::size_t i = 0; i < std::min(inputs.size(), model.model->inputs.size()); ++i) {
    request.inputs[i] = input_rows(model, inputs, i);
  }
  for (std::size_t i = 0; i < model.model->outputs.size(); ++i) {
    request.outputs[i] = output_rows(model, lengths, results, i);
  }
  return request;
}

// The nodes of a graph name inputs and outputs by their cells' own numbers.
static Request graph_request(const InstalledModel& model, std::shared_ptr<const NodeGraph> graph,
                             const Lengths& lengths, std::span<const DeviceAddress> inputs,
                             DeviceAddress results) {
  const auto pulls = model.model->unfolding->pulls();
  const auto pushes = model.model->unfolding->pushes();
  Request request;
  request.model = model.id;
  request.graph = std::move(graph);
  for (std::size_t i = 0; i < pulls.size(); ++i) {
    if (pulls[i] < inputs.size()) request.inputs[i] = input_rows(model, inputs, pulls[i]);
  }
  for (std::size_t i = 0; i < pushes.size(); ++i) {
    const std::uint8_t output = pushes[i].output;
    if (output != LanePush::kNowhere) request.outputs[i] = output_rows(model, lengths, results, output);
  }
  return request;
}

Result<Request> unfolded_request(const InstalledModel& model, const Structure& structure,
                                 const Lengths& lengths, std::span<const DeviceAddress> inputs,
                                 DeviceAddress results) {
  const ModelNumbers numbers{model.id, model.first_type, model.first_pool};
  auto graph = model.model->unfolding->nodes(structure, numbers);
  if (!graph) return tl::unexpected(graph.error());
  if (*graph == nullptr) return lane_request(model, lengths, inputs, results);
  return graph_request(model, std::move(*graph), lengths, inputs, results);
}

}  // namespace volvox
