#include "routing/router.h"

#include <algorithm>

#include "base/mixing.h"

namespace volvox {

Status check(const RouterLimits& limits) {
  if (Status members = check(limits.membership); !members) return members;
  if (limits.max_attempts == 0) return invalid("max_attempts must be at least 1");
  if (limits.reserved_share < 0 || limits.reserved_share >= 1)
    return invalid("reserved_share must be at least 0 and less than 1");
  return {};
}

Router::Router(const RouterLimits& limits, std::uint64_t seed)
    : limits_(limits), dice_(seed), members_(limits.membership) {}

Result<NodeId> Router::join(std::string_view name, Incarnation incarnation,
                            std::span<const ModelOffer> offers, TimePoint now, RouterEvents& out) {
  MemberEvents events;
  auto node = members_.join(name, incarnation, now, events);
  if (!node) return node;
  if (node->index >= nodes_.size()) nodes_.resize(node->index + 1);
  take_in(events, out);
  const CreditLine credit(limits_.reserved_share);
  nodes_[node->index] = {{}, credit, credit, {}, 0, 0, stable_hash(name)};
  std::vector<DigestConflict> conflicts;
  models_.add(*node, offers, conflicts);
  tell(conflicts, out);
  return node;
}

bool Router::offer(NodeId node, std::span<const ModelOffer> offers, RouterEvents& out) {
  if (members_.find(node) == nullptr) return false;
  std::vector<DigestConflict> conflicts;
  models_.update(node, offers, conflicts);
  tell(conflicts, out);
  return true;
}

void Router::grant(NodeId node, const CreditGrant& requests, const CreditGrant& bytes) {
  if (members_.find(node) == nullptr) return;
  nodes_[node.index].requests.granted(requests);
  nodes_[node.index].bytes.granted(bytes);
}

bool Router::report(NodeId id, const LoadReport& report, TimePoint now, RouterEvents& out) {
  MemberEvents events;
  const bool member = members_.report(id, report.echo, now, events);
  if (member) {
    Node& node = nodes_[id.index];
    node.wait = report.wait;
    node.rows = report.rows;
    node.full_rows = report.full_rows;
    node.load.reported(report.work);
    grant(id, report.requests, report.bytes);
    models_.set_costs(id, report.cell_costs);
    models_.set_waits(id, report.waits);
  }
  take_in(events, out);
  judge(id);
  return member;
}

void Router::heard(NodeId node, TimePoint now, RouterEvents& out) {
  MemberEvents events;
  members_.heard(node, now, events);
  take_in(events, out);
  judge(node);
}

void Router::advance(TimePoint now, RouterEvents& out) {
  MemberEvents events;
  members_.advance(now, events);
  take_in(events, out);
}

void Router::drain(NodeId node, RouterEvents& out) {
  MemberEvents events;
  members_.drain(node, events);
  take_in(events, out);
}

void Router::leave(NodeId node, RouterEvents& out) {
  MemberEvents events;
  members_.leave(node, events);
  take_in(events, out);
}

void Router::disconnected(NodeId node, TimePoint now, RouterEvents& out) {
  MemberEvents events;
  members_.disconnected(node, now, events);
  take_in(events, out);
  judge(node);
}

void Router::take_in(MemberEvents& events, RouterEvents& out) {
  for (MemberEvent& event : events) {
    const NodeId node = event.node;
    const MemberEvent::Kind kind = event.kind;
    out.push_back({RouterEvent::Kind::kMember, std::move(event), {}, {}});
    if (kind == MemberEvent::Kind::kDied || kind == MemberEvent::Kind::kLeft) lose(node, out);
    judge(node);
  }
}

void Router::judge(NodeId node) {
  const Member* member = members_.find(node);
  if (member == nullptr) return;
  models_.use(node, member->takes_work()       ? NodeUse::kAnything
                    : member->is_last_resort() ? NodeUse::kLastResort
                                               : NodeUse::kNothing);
}

void Router::lose(NodeId node, RouterEvents& out) {
  std::vector<DigestConflict> conflicts;
  models_.remove(node, conflicts);
  tell(conflicts, out);
  for (const AttemptId attempt : attempts_.take_from(node))
    out.push_back({RouterEvent::Kind::kRetry, {}, attempt, {}});
}

void Router::tell(std::vector<DigestConflict>& conflicts, RouterEvents& out) {
  for (DigestConflict& conflict : conflicts)
    out.push_back({RouterEvent::Kind::kConflict, {}, {}, std::move(conflict)});
}

Result<Placement> Router::place(std::uint64_t request, const RequestInfo& info, TimePoint now) {
  const auto choice = choose({info, now, {}});
  if (!choice) return tl::unexpected(choice.error());
  book(*choice);
  return Placement{choice->node, attempts_.begin(request, choice->node, choice->charge), choice->version};
}

Result<Placement> Router::retry(AttemptId last, const RequestInfo& info, TimePoint now, Why why) {
  if (!attempts_.newest(last)) return fail(ErrorCode::kInternal, "this attempt is not the newest");
  const NodeId was_on = attempts_.node(last).value_or(NodeId{});
  const bool full = why == Why::kFull;
  Result<Choice> choice =
      last.number < limits_.max_attempts ? choose({info, now, was_on, full})
      : full ? fail(ErrorCode::kOverloaded, "the nodes that were asked have no room; try again later")
             : fail(ErrorCode::kUnavailable, "the nodes that ran the request went away; send it again");
  unbook(last);
  if (!choice) {
    attempts_.end(last);
    return tl::unexpected(std::move(choice).error());
  }
  book(*choice);
  return Placement{choice->node, attempts_.again(last, choice->node, choice->charge), choice->version};
}

std::optional<std::uint64_t> Router::end(AttemptId attempt) {
  unbook(attempt);
  return attempts_.end(attempt);
}

Duration Router::estimate(NodeId node) const {
  return members_.find(node) == nullptr ? Duration::zero() : nodes_[node.index].load.estimate();
}

void Router::book(const Choice& choice) {
  Node& node = nodes_[choice.node.index];
  node.load.sent(choice.charge.work);
  node.requests.sent(choice.charge.requests);
  node.bytes.sent(choice.charge.bytes);
}

void Router::unsent(AttemptId attempt) {
  unbook(attempt, &CreditLine::unsent);
}

void Router::unbook(AttemptId attempt, void (CreditLine::*how)(std::uint64_t)) {
  const Charge charge = attempts_.take_charge(attempt);
  const auto where = attempts_.node(attempt);
  if (!where) return;
  Node& node = nodes_[where->index];
  node.load.finished(charge.work);
  (node.requests.*how)(charge.requests);
  (node.bytes.*how)(charge.bytes);
}

}  // namespace volvox
