// What the table says in random worlds, and whether it may.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_world.h"

namespace volvox::desk {

void World::take(SessionActions& out) {
  using Kind = SessionAction::Kind;
  for (const SessionAction& action : out) {
    switch (action.kind) {
      case Kind::kRun:
        take_run(action);
        break;
      case Kind::kAnswer:
        take_answer(action);
        break;
      case Kind::kRefuse:
        take_refusal(action);
        break;
      case Kind::kStop:
        ASSERT_TRUE(runs_.contains(action.id.lo));
        EXPECT_FALSE(runs_[action.id.lo].stopped);
        runs_[action.id.lo].stopped = true;
        break;
      default:
        take_copy(action);
        break;
    }
  }
}

void World::take_run(const SessionAction& action) {
  const Id id = action.id.lo;
  const Stream& stream = streams_.at(id);
  EXPECT_FALSE(stream.ended);
  EXPECT_EQ(action.sequence, stream.states.size()) << "out of order, or twice";
  EXPECT_FALSE(spills_.contains(id) || restores_.contains(id) || host_.contains(id));
  const Asked& asked = asked_.at(action.request);
  EXPECT_TRUE(!asked.answered && asked.session == id && asked.sequence == action.sequence);
  EXPECT_EQ(asked.ends, action.last);
  EXPECT_NE(action.read, action.write);
  if (action.read == kInitialState) {
    EXPECT_TRUE(stream.states.empty());
  } else {
    EXPECT_EQ(owners_[action.read], id);
    EXPECT_EQ(slots_[action.read], state_of(stream)) << "not the fold of what was committed";
  }
  own(id, action.write);
  slots_[action.write] = kPoison;
  EXPECT_TRUE(
      runs_.emplace(id, Run{action.sequence, action.read, action.write, asked.content, false}).second);
}

void World::take_answer(const SessionAction& action) {
  const Asked& asked = asked_.at(action.request);
  Stream& stream = streams_.at(action.id.lo);
  EXPECT_EQ(asked.session, action.id.lo);
  EXPECT_EQ(asked.sequence, action.sequence);
  EXPECT_EQ(asked.ends, action.last);
  EXPECT_EQ(action.epoch, limits_.epoch);
  stream.taken = now_;
  if (asked.empty) {
    EXPECT_EQ(action.sequence, stream.states.size());
    EXPECT_EQ(action.output, nullptr);
  } else {
    ASSERT_LT(action.sequence, stream.states.size()) << "answered before it was committed";
    ASSERT_NE(action.output, nullptr);
    EXPECT_EQ(static_cast<const Output*>(action.output.get())->state, stream.states[action.sequence]);
    EXPECT_EQ(asked.content, stream.contents[action.sequence]) << "the answer to another's content";
  }
  stream.ended = stream.ended || action.last;
  answered(action.request);
}

void World::take_refusal(const SessionAction& action) {
  EXPECT_FALSE(action.error.message.empty());
  const Id id = asked_.at(action.request).session;
  const ErrorCode code = action.error.code;
  if (code == ErrorCode::kSessionExpired || (code == ErrorCode::kUnavailable && !draining_)) {
    EXPECT_FALSE(live(id));
  }
  answered(action.request);
}

void World::take_copy(const SessionAction& action) {
  using Kind = SessionAction::Kind;
  const Id id = action.id.lo;
  if (action.kind == Kind::kForget) {
    EXPECT_EQ(host_.erase(id), 1U);
    return;
  }
  EXPECT_FALSE(runs_.contains(id));
  EXPECT_FALSE(spills_.contains(id));
  EXPECT_FALSE(restores_.contains(id));
  if (action.kind == Kind::kSpill) {
    EXPECT_EQ(owners_[action.read], id);
    EXPECT_EQ(slots_[action.read], state_of(streams_.at(id)));
    spills_[id] = action.read;
  } else if (action.kind == Kind::kRestore) {
    EXPECT_EQ(host_.at(id), state_of(streams_.at(id)));
    own(id, action.write);
    restores_[id] = action.write;
  } else {
    for (const StateSlot slot : {action.read, action.write}) {
      const auto owner = owners_.find(slot);
      EXPECT_TRUE(owner == owners_.end() || owner->second == id);
      if (owner != owners_.end()) owners_.erase(owner);
      slots_[slot] = kPoison;
    }
  }
}

void World::own(Id session, StateSlot slot) {
  EXPECT_LT(slot, 2 * limits_.max_resident);
  const auto [owner, is_new] = owners_.emplace(slot, session);
  EXPECT_EQ(owner->second, session) << "two sessions in one slot";
}

void World::answered(std::uint64_t request) {
  Asked& asked = asked_.at(request);
  EXPECT_FALSE(asked.answered) << "answered twice";
  asked.answered = true;
  open_.erase(request);
  const auto stream = streams_.find(asked.session);
  if (stream == streams_.end()) return;
  --stream->second.open;
  stream->second.touched = now_;
}

std::map<std::uint64_t, std::uint64_t> World::live_by_client() const {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (const auto& [id, stream] : streams_) counts[stream.client] += live(id) ? 1 : 0;
  return counts;
}

void World::check_gave_way(const std::map<std::uint64_t, std::uint64_t>& before, std::uint64_t asker) {
  constexpr std::uint64_t kAnything = ~std::uint64_t{0};
  const bool host_is_bounded = limits_.max_spilled_bytes < kAnything ||
                               limits_.share.spilled_bytes < kAnything || !limits_.shares.empty();
  if (limits_.evict_idle > Duration{0} || host_is_bounded) return;
  const auto count = [&](std::uint64_t client) { return before.contains(client) ? before.at(client) : 0; };
  const auto after = live_by_client();
  for (const auto& [client, left] : after) {
    if (client == asker || left >= count(client)) continue;
    EXPECT_GT(count(client), count(asker) + 1) << "one that has no more gave way";
  }
}

void World::check_shares() {
  const SessionStats stats = table_.stats();
  std::map<std::uint64_t, std::uint64_t> spilled;
  for (const auto& [id, state] : host_) spilled[streams_.at(id).client] += streams_.at(id).state_bytes;
  for (const auto& [id, slot] : spills_) spilled[streams_.at(id).client] += streams_.at(id).state_bytes;
  const auto live = live_by_client();
  std::uint64_t kept = 0, on_host = 0, most_kept = 0, most_on_host = 0;
  for (std::uint64_t client = 0; client < kClients; ++client) {
    const SessionShare share = share_of(client);
    EXPECT_LE(live.contains(client) ? live.at(client) : 0, share.sessions);
    EXPECT_LE(kept_[client], share.kept_bytes);
    EXPECT_LE(spilled[client], share.spilled_bytes);
    kept += kept_[client];
    on_host += spilled[client];
    most_kept = std::max(most_kept, kept_[client]);
    most_on_host = std::max(most_on_host, spilled[client]);
  }
  EXPECT_LE(on_host, limits_.max_spilled_bytes);
  EXPECT_EQ(stats.spilled_bytes, on_host);
  EXPECT_EQ(stats.kept_bytes, kept);
  EXPECT_EQ(stats.most_kept_bytes, most_kept);
  EXPECT_EQ(stats.most_spilled_bytes, most_on_host);
}

void World::check_bounds() {
  check_shares();
  const SessionStats stats = table_.stats();
  EXPECT_LE(stats.live + stats.ending, limits_.max_sessions);
  EXPECT_LE(stats.resident, limits_.max_resident);
  EXPECT_LE(stats.remembered, limits_.max_remembered);
  EXPECT_LE(stats.kept_bytes, limits_.max_kept_bytes_total);
  EXPECT_LE(stats.kept_outputs, (stats.live + stats.ending + stats.remembered) * limits_.max_kept_outputs);
  EXPECT_EQ(stats.running, runs_.size());
  EXPECT_EQ(stats.copying, spills_.size() + restores_.size());
  EXPECT_EQ(stats.spilled + restores_.size(), host_.size());
  EXPECT_GE(stats.committed, committed_);  // the empty ends besides
  const auto stopped = std::ranges::count_if(runs_, [](const auto& run) { return run.second.stopped; });
  EXPECT_EQ(stats.waiting, open_.size() - (runs_.size() - static_cast<std::size_t>(stopped)));
  // Somebody in line means that nobody idle could make room for it.
  EXPECT_TRUE(stats.in_line == 0 || stats.resident >= allowed_);
  EXPECT_TRUE(stats.in_line == 0 || stats.running + stats.copying > 0) << "nobody will ever serve the line";
  for (const auto& [id, stream] : streams_) {
    EXPECT_LE(stream.open, limits_.max_waiting + 1U);
    const bool may_live = !stream.states.empty() || stream.open > 0 || runs_.contains(id);
    EXPECT_TRUE(may_live || !live(id)) << "a session that could not begin is none";
  }
}

}  // namespace volvox::desk
