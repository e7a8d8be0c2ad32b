#include "actors/cluster/member_view.h"

#include <spdlog/spdlog.h>

namespace volvox {
namespace {

std::string state_of(const Member& member) {
  if (member.state == MemberState::kSuspect) return "suspect";
  return member.draining ? "draining" : "alive";
}

}  // namespace

void log_member(const MemberEvent& event, ClusterMetrics& metrics) {
  switch (event.kind) {
    case MemberEvent::Kind::kJoined:
      metrics.joined();
      spdlog::info("node '{}' joined", event.name);
      break;
    case MemberEvent::Kind::kSuspected:
      metrics.suspected();
      spdlog::warn("node '{}' is silent", event.name);
      break;
    case MemberEvent::Kind::kRecovered:
      spdlog::info("node '{}' is heard again", event.name);
      break;
    case MemberEvent::Kind::kDraining:
      spdlog::info("node '{}' gets nothing new", event.name);
      break;
    case MemberEvent::Kind::kDied:
      metrics.died();
      spdlog::warn("node '{}' is dead", event.name);
      break;
    case MemberEvent::Kind::kLeft:
      spdlog::info("node '{}' left", event.name);
      break;
  }
}

MemberView view_of(const Router& router, NodeId node, const std::vector<ClusterOffer>& offers) {
  MemberView view;
  if (const Member* member = router.members().find(node)) {
    view.name = member->name;
    view.state = state_of(*member);
  }
  view.in_flight = router.in_flight(node);
  view.work = router.estimate(node);
  view.request_credit = router.request_credit(node).available();
  view.byte_credit = router.byte_credit(node).available();
  for (const ClusterOffer& offer : offers) {
    const bool gets_traffic = router.digest(offer.model, offer.version) == offer.digest;
    view.models.push_back({offer.model, offer.version, offer.digest, gets_traffic});
  }
  return view;
}

}  // namespace volvox
