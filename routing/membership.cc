#include "routing/membership.h"

#include <algorithm>

namespace volvox {
namespace {

constexpr std::size_t kMostReplaced = 16;  // incarnations that are remembered of one name

}  // namespace

Status check(const MembershipLimits& limits) {
  if (limits.suspect_after <= Duration::zero() || limits.longest_gap <= Duration::zero())
    return invalid("suspect_after and longest_gap must be longer than nothing");
  if (limits.dead_after <= limits.suspect_after) return invalid("dead_after must exceed suspect_after");
  if (limits.longest_gap >= limits.dead_after) return invalid("longest_gap must be less than dead_after");
  if (limits.max_members == 0) return invalid("max_members must be at least 1");
  return {};
}

Membership::Record* Membership::record(NodeId node) {
  return members_.valid(node.index, node.generation) ? &members_[node.index] : nullptr;
}

const Member* Membership::find(NodeId node) const {
  return members_.valid(node.index, node.generation) ? &members_[node.index] : nullptr;
}

std::optional<NodeId> Membership::find(std::string_view name) const {
  const auto known = names_.find(name);
  if (known == names_.end() || find(known->second.node) == nullptr) return std::nullopt;
  return known->second.node;
}

std::optional<MemberState> Membership::ended(std::string_view name) const {
  const auto known = names_.find(name);
  if (known == names_.end() || find(known->second.node) != nullptr) return std::nullopt;
  return known->second.left ? MemberState::kLeft : MemberState::kDead;
}

void Membership::tell(MemberEvent::Kind kind, NodeId node, MemberEvents& out) const {
  out.push_back({kind, node, members_[node.index].name});
}

void Membership::pass_time(TimePoint now) {
  if (!last_call_) last_call_ = now;
  awake_ += std::clamp(now - *last_call_, Duration::zero(), limits_.longest_gap);
  last_call_ = std::max(*last_call_, now);
}

Status Membership::may_join(std::string_view name, Incarnation incarnation) const {
  const auto known = names_.find(name);
  if (known != names_.end()) {
    const auto& replaced = known->second.replaced;
    if (std::find(replaced.begin(), replaced.end(), incarnation) != replaced.end()) {
      return fail(ErrorCode::kPermissionDenied,
                  "another process has joined as '" + std::string(name) + "'; give each node its own name");
    }
    if (const Member* member = find(known->second.node)) {
      // One that is heard of is no earlier life of the newcomer: whichever of two went, requests would be
      // lost.
      if (member->incarnation == incarnation || member->state != MemberState::kAlive) return {};
      return fail(ErrorCode::kUnavailable,
                  "a node named '" + std::string(name) +
                      "' is here and alive; give each node its own name, or wait until that one has ended");
    }
  }
  if (members_.used() < limits_.max_members) return {};
  return fail(ErrorCode::kOverloaded, "this router has its " + std::to_string(limits_.max_members) +
                                          " members; raise its bound or use another router");
}

Result<NodeId> Membership::join(std::string_view name, Incarnation incarnation, TimePoint now,
                                MemberEvents& out) {
  pass_time(now);
  if (Status may = may_join(name, incarnation); !may) return tl::unexpected(std::move(may).error());
  Name& known = names_[std::string(name)];
  end(known.node, MemberState::kDead, out);
  if (known.last != incarnation && known.last != 0) known.replaced.push_back(known.last);
  if (known.replaced.size() > kMostReplaced) known.replaced.erase(known.replaced.begin());
  known.last = incarnation;
  known.node.index = members_.take();
  known.node.generation = members_.generation(known.node.index);
  Record& member = members_[known.node.index];
  member.name = name;
  member.incarnation = incarnation;
  member.heard = awake_;
  tell(MemberEvent::Kind::kJoined, known.node, out);
  return known.node;
}

std::size_t Membership::usable() const {
  std::size_t count = 0;
  for (std::uint32_t index = members_.used_from(0); index != kNoIndex; index = members_.used_from(index + 1))
    count += members_[index].takes_work() ? 1 : 0;
  return count;
}

Ping Membership::ping(TimePoint now) {
  pass_time(now);
  last_ping_ = awake_;
  return last_ping_.count();
}

bool Membership::report(NodeId node, Ping echo, TimePoint now, MemberEvents& out) {
  pass_time(now);
  Record* member = record(node);
  if (member == nullptr) return false;
  const Duration sent{echo};
  if (sent > member->heard && sent <= last_ping_) {
    member->heard = sent;
    member->disconnected = false;
  }
  judge(node, out);
  return record(node) != nullptr;
}

void Membership::heard(NodeId node, TimePoint now, MemberEvents& out) {
  pass_time(now);
  Record* member = record(node);
  if (member == nullptr) return;
  member->heard = awake_;
  member->disconnected = false;
  judge(node, out);
}

void Membership::advance(TimePoint now, MemberEvents& out) {
  pass_time(now);
  for (std::uint32_t index = members_.used_from(0); index != kNoIndex; index = members_.used_from(index + 1))
    judge({index, members_.generation(index)}, out);
}

void Membership::judge(NodeId node, MemberEvents& out) {
  Record& member = members_[node.index];
  const Duration silent = awake_ - member.heard;
  if (silent >= limits_.dead_after) return end(node, MemberState::kDead, out);
  const bool suspect = member.disconnected || silent >= limits_.suspect_after;
  if (suspect == (member.state == MemberState::kSuspect)) return;
  member.state = suspect ? MemberState::kSuspect : MemberState::kAlive;
  tell(suspect ? MemberEvent::Kind::kSuspected : MemberEvent::Kind::kRecovered, node, out);
}

void Membership::disconnected(NodeId node, TimePoint now, MemberEvents& out) {
  pass_time(now);
  Record* member = record(node);
  if (member == nullptr) return;
  member->disconnected = true;
  judge(node, out);
}

void Membership::drain(NodeId node, MemberEvents& out) {
  Record* member = record(node);
  if (member == nullptr || member->draining) return;
  member->draining = true;
  tell(MemberEvent::Kind::kDraining, node, out);
}

void Membership::leave(NodeId node, MemberEvents& out) {
  end(node, MemberState::kLeft, out);
}

void Membership::end(NodeId node, MemberState how, MemberEvents& out) {
  Record* member = record(node);
  if (member == nullptr) return;
  tell(how == MemberState::kLeft ? MemberEvent::Kind::kLeft : MemberEvent::Kind::kDied, node, out);
  const auto known = names_.find(member->name);
  if (known != names_.end()) known->second.left = how == MemberState::kLeft;
  remember_gone(member->name);
  members_.give_back(node.index);
}

void Membership::remember_gone(const std::string& name) {
  gone_.push_back(name);
  if (gone_.size() <= limits_.max_members) return;
  const auto oldest = names_.find(gone_.front());
  gone_.pop_front();
  if (oldest == names_.end() || oldest->first == name) return;
  if (find(oldest->second.node) == nullptr) names_.erase(oldest);
}

}  // namespace volvox
