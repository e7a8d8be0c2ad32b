#include "actors/http_models.h"

#include <numeric>
#include <string>
#include <utility>

#include "actors/request_check.h"

namespace volvox {
namespace {

V2TensorMetadata tensor(const std::string& name, DType dtype, const Shape& row, bool every_step) {
  V2TensorMetadata metadata{name, wire_type(dtype), {}};
  if (every_step) metadata.shape.push_back(-1);
  metadata.shape.insert(metadata.shape.end(), row.begin(), row.end());
  return metadata;
}

std::uint64_t tasks_of(std::span<const EngineSnapshot> engines, const std::string& model) {
  std::uint64_t tasks = 0;
  for (const EngineSnapshot& engine : engines) {
    for (const EngineSnapshot::Type& type : engine.types) {
      if (type.model != model) continue;
      tasks += std::accumulate(type.batches.tasks.begin(), type.batches.tasks.end(), std::uint64_t{0});
    }
  }
  return tasks;
}

}  // namespace

V2ModelMetadata metadata_of(const Catalog& catalog, const Model& model) {
  V2ModelMetadata metadata;
  metadata.name = model.name;
  metadata.versions = catalog.versions(model.name);
  for (const InputSpec& input : model.inputs)
    metadata.inputs.push_back(tensor(input.name, input.dtype, input.shape, true));
  for (const OutputSpec& output : model.outputs)
    metadata.outputs.push_back(tensor(output.name, output.dtype, output.shape, output.every));
  return metadata;
}

V2Statistics statistics_of(const Node& node, const InstalledModel& model,
                           std::span<const EngineSnapshot> engines) {
  const ModelStatistics::Sums sums = node.statistics[model.id].sums();
  V2Statistics statistics;
  statistics.name = model.model->name;
  statistics.version = model.model->version;
  statistics.last_inference_ms = sums.last_ms;
  statistics.executions = tasks_of(engines, model.model->name + "/" + std::to_string(model.model->version));
  statistics.success = {sums.successes, 1000 * sums.success_us};
  statistics.fail = {sums.failures, 1000 * sums.failure_us};
  statistics.queue = {sums.successes, 1000 * sums.queue_us};
  statistics.compute = {sums.successes, 1000 * sums.compute_us};
  return statistics;
}

}  // namespace volvox
