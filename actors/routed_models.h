#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "actors/http_models.h"
#include "actors/model_statistics.h"
#include "actors/work.h"
#include "protocol/cluster_messages.h"

namespace volvox {

// A router has no models: it knows what its nodes offered when they joined, and what they answered through
// it. It keeps that for whoever asks over HTTP. A version is known for as long as a node offers it. Any
// thread.
class RoutedModels final : public HttpModels {
 public:
  // The node offers these from now on, and nothing else. Nodes are known by a number.
  void joined(std::uint32_t node, std::span<const ClusterOffer> offers);
  void left(std::uint32_t node);
  // A node answered the request. One that left the version open counts for the newest.
  void answered(const IncomingRequest& request, const Outcome& outcome);

  Result<HttpModel> find(std::string_view name, std::uint32_t version) const override;
  V2ModelMetadata metadata(const HttpModel& model) const override;
  // The sums of all requests through this router. Tasks are counted by the nodes alone.
  V2Statistics statistics(const HttpModel& model) const override;

 private:
  struct Version {
    ClusterOffer offer;  // of the first that offered it
    std::set<std::uint32_t> nodes;
    std::shared_ptr<ModelStatistics> statistics = std::make_shared<ModelStatistics>();
  };
  using Versions = std::map<std::uint32_t, Version>;

  void forget(std::uint32_t node);
  // Null: there is none.
  const Version* look_up(std::string_view name, std::uint32_t version) const;

  mutable std::mutex mutex_;
  std::map<std::string, Versions, std::less<>> models_;
};

}  // namespace volvox
