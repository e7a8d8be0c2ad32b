#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "actors/http/http_models.h"
#include "actors/node/model_statistics.h"
#include "actors/work/work.h"
#include "protocol/cluster/cluster_messages.h"
#include "routing/node_id.h"

namespace volvox {

// A router has no models: it knows what its nodes offered when they joined, and what they answered through
// it. It keeps that for whoever asks over HTTP. A version is known for as long as a node offers it; what was
// counted of it is kept for when a node offers it again, of a bounded number of versions. Any thread.
class RoutedModels final : public HttpModels {
 public:
  // The node offers these from now on, and nothing else.
  void offered(NodeId node, std::span<const ClusterOffer> offers);
  void left(NodeId node);
  void clear();  // all have left, and their router is young
  // Those that are to come have come: what nobody offers now is not found. Until then it may be on its way.
  void settle();
  // Whether the node takes new requests. What only others offer is not the newest for one that left it open.
  void takes_work(NodeId node, bool takes);
  // The request has ended, with this version of its model; 0: as its header says, or the newest.
  void answered(const IncomingRequest& request, std::uint32_t version, const Outcome& outcome);

  Result<HttpModel> find(std::string_view name, std::uint32_t version) const override;
  V2ModelMetadata metadata(const HttpModel& model) const override;
  // The sums of all requests through this router. Tasks are counted by the nodes alone.
  V2Statistics statistics(const HttpModel& model) const override;
  std::vector<ModelRequests> requests() const override;

 private:
  using Node = std::pair<std::uint32_t, std::uint32_t>;  // index and generation
  struct Version {
    ClusterOffer offer;  // of the first that offered it
    std::set<Node> nodes;
    std::shared_ptr<ModelStatistics> statistics;
  };
  using Versions = std::map<std::uint32_t, Version>;
  using Name = std::pair<std::string, std::uint32_t>;

  void forget(NodeId node, std::span<const ClusterOffer> but);
  void put_away(const Name& name, const Version& version);
  std::shared_ptr<ModelStatistics> take_up(const Name& name);
  // Null: there is none. 0: the newest that a node takes requests for, or that there is.
  const Version* look_up(std::string_view name, std::uint32_t version) const;

  mutable std::mutex mutex_;
  bool settled_ = false;
  std::map<std::string, Versions, std::less<>> models_;
  std::set<Node> resting_;                                                  // that take no new requests
  std::deque<std::pair<Name, std::shared_ptr<ModelStatistics>>> put_away_;  // the oldest first
};

}  // namespace volvox
