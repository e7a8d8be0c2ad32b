#include "actors/http/http_models.h"

#include <numeric>
#include <string>
#include <utility>

#include "actors/node/offered_models.h"

namespace volvox {
namespace {

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

std::vector<V2TensorMetadata> v2_tensors(std::span<const ClusterTensor> tensors) {
  std::vector<V2TensorMetadata> metadata;
  for (const ClusterTensor& tensor : tensors) metadata.push_back({tensor.name, tensor.type, tensor.shape});
  return metadata;
}

V2Statistics v2_sums(const HttpModel& model, const ModelStatistics::Sums& sums) {
  V2Statistics statistics;
  statistics.name = model.name;
  statistics.version = model.version;
  statistics.last_inference_ms = sums.last_ms;
  statistics.success = {sums.successes, 1000 * sums.success_us};
  statistics.fail = {sums.failures, 1000 * sums.failure_us};
  statistics.queue = {sums.successes, 1000 * sums.queue_us};
  statistics.compute = {sums.successes, 1000 * sums.compute_us};
  return statistics;
}

ModelRequestsSource model_requests_source(const std::shared_ptr<const HttpModels>& models) {
  return [seen = std::weak_ptr(models)] {
    const auto now = seen.lock();
    return now ? now->requests() : std::vector<ModelRequests>();
  };
}

Result<HttpModel> InstalledHttpModels::find(std::string_view name, std::uint32_t version) const {
  auto found = node_->catalog->find(name, version);
  if (!found) return tl::unexpected(std::move(found).error());
  const Model& model = *(*found)->model;
  return HttpModel{model.name, model.version, std::move(*found)};
}

V2ModelMetadata InstalledHttpModels::metadata(const HttpModel& of) const {
  const Model& model = *of.installed->model;
  return {model.name, node_->catalog->versions(model.name), v2_tensors(inputs_of(model)),
          v2_tensors(outputs_of(model))};
}

V2Statistics InstalledHttpModels::statistics(const HttpModel& of) const {
  V2Statistics statistics = v2_sums(of, node_->statistics[of.installed->id].sums());
  statistics.executions = tasks_of(snapshots_(), of.name + "/" + std::to_string(of.version));
  return statistics;
}

std::vector<ModelRequests> InstalledHttpModels::requests() const {
  std::vector<ModelRequests> all;
  for (const ModelPtr& one : node_->catalog->all())
    all.push_back(
        node_->statistics[one->id].requests(one->model->name + "/" + std::to_string(one->model->version)));
  return all;
}

}  // namespace volvox
