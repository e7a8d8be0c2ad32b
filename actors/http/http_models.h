#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/node/node.h"
#include "monitoring/metrics/engine_snapshot.h"
#include "monitoring/metrics/model_requests.h"
#include "protocol/cluster/cluster_messages.h"
#include "protocol/v2/describe.h"

namespace volvox {

// A model version that a request over HTTP can be for.
struct HttpModel {
  std::string name;
  std::uint32_t version = 0;
  ModelPtr installed;  // null: it is on other machines
};

// What the HTTP door can tell of models, wherever they are. Any thread.
class HttpModels {
 public:
  virtual ~HttpModels() = default;
  // Version 0: the newest. MODEL_NOT_FOUND names what there is.
  virtual Result<HttpModel> find(std::string_view name, std::uint32_t version) const = 0;
  virtual V2ModelMetadata metadata(const HttpModel& model) const = 0;
  virtual V2Statistics statistics(const HttpModel& model) const = 0;
  // What became of the requests of each, as far as it came through this process.
  virtual std::vector<ModelRequests> requests() const = 0;
};

// Of models that may be gone by the time it is asked: then there are none.
ModelRequestsSource model_requests_source(const std::shared_ptr<const HttpModels>& models);

// As the protocol wants it.
std::vector<V2TensorMetadata> v2_tensors(std::span<const ClusterTensor> tensors);
V2Statistics v2_sums(const HttpModel& model, const ModelStatistics::Sums& sums);

// Those of this process.
class InstalledHttpModels final : public HttpModels {
 public:
  using Snapshots = std::function<std::vector<EngineSnapshot>()>;  // any thread

  InstalledHttpModels(NodePtr node, Snapshots snapshots)
      : node_(std::move(node)), snapshots_(std::move(snapshots)) {}

  Result<HttpModel> find(std::string_view name, std::uint32_t version) const override;
  V2ModelMetadata metadata(const HttpModel& model) const override;
  V2Statistics statistics(const HttpModel& model) const override;
  std::vector<ModelRequests> requests() const override;

 private:
  const NodePtr node_;
  const Snapshots snapshots_;
};

}  // namespace volvox
