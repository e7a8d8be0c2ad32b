#include "tests/unit/routing/sessions/session_world.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace volvox::desk {
namespace {

constexpr ModelIdentity kServed{1, 2, 3, 4};
constexpr Duration kMillisecond{std::chrono::milliseconds(1)};

}  // namespace

World::World(std::uint64_t seed) : random_(seed), limits_(random_limits(random_)), table_(limits_) {}

SessionLimits World::random_limits(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  SessionLimits limits;
  limits.max_sessions = 1 + below(40);
  limits.max_resident = 1 + below(12);
  limits.max_waiting = below(6);
  limits.max_kept_outputs = below(5);
  limits.max_kept_bytes = below(300);
  limits.max_kept_bytes_total = below(2000);
  limits.max_remembered = below(10);
  limits.remember = below(300) * kMillisecond;
  limits.idle_expiry = (1 + below(1000)) * kMillisecond;
  limits.evict_idle = below(2) * below(200) * kMillisecond;
  limits.epoch = 1 + below(5);
  limits.hash_seed = random();
  if (below(2) == 0) limits.max_spilled_bytes = below(300);
  if (below(2) == 0) limits.share = {1 + below(limits.max_sessions), below(1000), below(200)};
  if (below(2) == 0) limits.shares["a"] = {1 + below(limits.max_sessions), below(1000), below(200)};
  return limits;
}

std::uint64_t World::mix(std::uint64_t state, Id session, std::uint64_t sequence, std::uint64_t content) {
  std::uint64_t h = state * 0x9e3779b97f4a7c15ULL + session;
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ULL + sequence;
  h = (h ^ (h >> 30)) * 0x94d049bb133111ebULL + content;
  return (h ^ (h >> 32)) * 0x94d049bb133111ebULL + 1;
}

void World::step() {
  const std::uint64_t what = below(100);
  if (what < 8) {
    begin();
  } else if (what < 45) {
    send();
  } else if (what < 47) {
    send_nonsense();
  } else if (what < 52) {
    cancel();
  } else if (what < 75 && !runs_.empty()) {
    finish(any_of(runs_), chance(85));
  } else if (what < 84 && !spills_.empty()) {
    spill(any_of(spills_), chance(85));
  } else if (what < 93 && !restores_.empty()) {
    restore(any_of(restores_), chance(95));
  } else if (what < 94) {
    release();
  } else if (what >= 95) {
    pass_time();
  }
  check_bounds();
}

// --- clients ---

void World::begin() {
  SessionRequest request;
  request.verb = SessionVerb::kBegin;
  request.id = {1, next_session_++};
  request.served = kServed;
  if (chance(80)) request.nonce = {1 + below(next_session_ / 2 + 5), 0};
  request.state_bytes = below(60);
  submit(request, true);
}

void World::send() {
  if (streams_.empty()) return;
  // Mostly the younger ones: of many of the others only a memory is left.
  const std::size_t recent = std::min<std::size_t>(streams_.size(), 2 * limits_.max_sessions);
  const auto& [id, stream] = *std::prev(streams_.end(), static_cast<std::ptrdiff_t>(1 + below(recent)));
  SessionRequest request;
  request.verb = chance(5) ? SessionVerb::kEnd : SessionVerb::kContinue;
  request.empty = request.verb == SessionVerb::kEnd && chance(30);
  request.id = {1, id};
  request.epoch = limits_.epoch;
  request.model = request.served = kServed;
  request.client = name_of(stream.client);
  request.sequence = stream.states.size();
  if (chance(40)) request.sequence += below(limits_.max_waiting + 3);
  if (chance(15)) request.sequence -= std::min(request.sequence, 1 + below(3));
  submit(request, true);
}

void World::send_nonsense() {
  SessionRequest request;
  request.verb = static_cast<SessionVerb>(below(3));
  request.id = {below(2), below(next_session_)};
  request.sequence = chance(50) ? random_() : 0;
  request.epoch = below(8);
  request.model = request.served = kServed;
  if (request.verb == SessionVerb::kBegin)
    request.id = chance(80) ? SessionId{1, next_session_++} : SessionId{};
  if (chance(50)) request.model.digest = 9;
  if (chance(20)) request.served.digest = 9;
  request.loaded = chance(90);
  request.empty = chance(20);
  request.nonce = {below(10), 0};
  submit(request, false);
}

HolderName World::name_of(std::uint64_t client) {
  constexpr std::array<HolderName, kClients> kNames{HolderName{}, {"a"}, {"b"}, {"", 9}};
  return kNames[client];
}

SessionShare World::share_of(std::uint64_t client) const {
  if (client == 0) return {};
  const auto own = limits_.shares.find(name_of(client).account);
  return own == limits_.shares.end() ? limits_.share : own->second;
}

void World::submit(const SessionRequest& sent, bool sound) {
  SessionRequest request = sent;
  const bool begins = request.verb == SessionVerb::kBegin;
  // A nonce is always of the same client: who comes with another's is tested elsewhere.
  const std::uint64_t client = (request.nonce == SessionNonce{} ? below(100) : request.nonce.lo) % kClients;
  if (begins) request.client = name_of(client);
  const auto live_before = live_by_client();
  request.request = next_request_++;
  if (!request.empty) request.content = {some_content(), 0};
  Asked& asked = asked_[request.request];
  asked.sequence = request.sequence;
  asked.ends = request.verb == SessionVerb::kEnd;
  asked.empty = request.empty;
  asked.content = request.content.lo;
  const bool was_there = live(request.id.lo) || streams_.contains(request.id.lo);
  const auto known = nonces_.find(request.nonce.lo);
  asked.session = begins               ? (known == nonces_.end() ? 0 : known->second)
                  : request.id.hi == 1 ? request.id.lo
                                       : 0;
  const std::size_t open_before = streams_.contains(asked.session) ? streams_[asked.session].open : 0;
  open_.insert(request.request);

  SessionActions out;
  const SessionStats before = table_.stats();
  asked.ticket = table_.submit(request, now_, out);
  if (table_.stats().begun > before.begun) {
    ASSERT_TRUE(begins && !was_there);
    asked.session = request.id.lo;
    Stream& stream = streams_[asked.session];
    stream.ref = table_.find(request.id).value_or(SessionRef{});
    stream.nonce = request.nonce.lo;
    stream.client = client;
    stream.state_bytes = request.state_bytes;
    if (request.nonce.lo != 0) nonces_[request.nonce.lo] = asked.session;
  }
  if (streams_.contains(asked.session)) ++streams_[asked.session].open;
  take(out);
  const SessionStats after = table_.stats();
  const bool tight = after.failed_spills > before.failed_spills;  // no room for a state in host memory
  // Those that are ending count, too, and nobody sees whose they are.
  if (begins && after.gave_way > before.gave_way && before.ending == 0) check_gave_way(live_before, client);
  if (!asked.answered) streams_[asked.session].taken = streams_[asked.session].touched = now_;
  for (const SessionAction& action : out) {
    if (action.kind != SessionAction::Kind::kRefuse || action.request != request.request) continue;
    if (action.error.code != ErrorCode::kOverloaded || !sound) continue;
    // Only at a bound.
    const SessionStats stats = table_.stats();
    const bool full = begins && stats.live + stats.ending >= limits_.max_sessions;
    const bool ahead = request.sequence > streams_[asked.session].states.size() + limits_.max_waiting;
    const bool share = begins && stats.over_share > before.over_share;
    EXPECT_TRUE(full || ahead || share || tight || open_before >= limits_.max_waiting);
  }
}

void World::cancel() {
  if (open_.empty()) return;
  auto victim = open_.lower_bound(below(next_request_));
  if (victim == open_.end()) victim = open_.begin();
  const std::uint64_t request = *victim;
  Stream& stream = streams_[asked_[request].session];
  stream.touched = now_;
  SessionActions out;
  table_.cancel(asked_[request].ticket, {ErrorCode::kCancelled, "gone"}, now_, out);
  take(out);
  EXPECT_TRUE(asked_[request].answered);
}

// --- the device ---

void World::finish(Id session, bool ok) {
  const Run run = runs_.at(session);
  runs_.erase(session);
  Stream& stream = streams_.at(session);
  const std::uint64_t before = run.read == kInitialState ? 0 : slots_.at(run.read);
  EXPECT_EQ(before, state_of(stream)) << "somebody wrote to a committed state";
  PartResult result;
  slots_[run.write] = kPoison;
  if (ok) {
    slots_[run.write] = mix(before, session, run.sequence, run.content);
    result.bytes = below(200);
    result.output = std::make_shared<Output>(*this, slots_[run.write], stream.client, result.bytes);
  } else {
    result.status = fail(ErrorCode::kInternal, "the device failed");
  }
  const bool counts = ok && !run.stopped;
  if (counts) {
    stream.states.push_back(slots_[run.write]);
    stream.contents.push_back(run.content);
    ++committed_;
  }
  stream.touched = now_;
  SessionActions out;
  table_.finished(stream.ref, std::move(result), now_, out);
  const auto answers = [&](const SessionAction& action) {
    return action.kind == SessionAction::Kind::kAnswer && action.id.lo == session &&
           action.sequence == run.sequence && !action.repeated && !asked_.at(action.request).empty;
  };
  EXPECT_EQ(std::ranges::count_if(out, answers), counts ? 1 : 0);
  take(out);
}

void World::spill(Id session, bool ok) {
  const StateSlot from = spills_.at(session);
  spills_.erase(session);
  if (ok) {
    EXPECT_TRUE(host_.emplace(session, slots_.at(from)).second);
  }
  streams_.at(session).touched = now_;
  SessionActions out;
  table_.spilled(streams_.at(session).ref, ok, now_, out);
  take(out);
}

void World::restore(Id session, bool ok) {
  const StateSlot to = restores_.at(session);
  restores_.erase(session);
  streams_.at(session).touched = now_;
  SessionActions out;
  if (!ok && chance(50)) {
    table_.not_restored(streams_.at(session).ref, now_, out);
    return take(out);
  }
  slots_[to] = ok ? host_.at(session) : kPoison;
  host_.erase(session);
  table_.restored(streams_.at(session).ref, ok, now_, out);
  take(out);
}

// --- the driver ---

void World::release() {
  if (streams_.empty()) return;
  SessionActions out;
  const auto reason = static_cast<SessionEnd>(below(kSessionEnds));
  const std::uint64_t what = below(60);
  if (what == 0) {
    table_.release_all(reason, now_, out);
    EXPECT_EQ(table_.stats().live, 0U);
  } else if (what == 1) {
    const std::uint64_t device = below(3);  // every other place, or all
    table_.release_resident([&](StateSlot slot) { return device == 2 || slot / 2 % 2 == device; }, reason,
                            now_, out);
  } else if (what <= 4) {
    allow(out);
  } else if (what == 5) {
    table_.release_model(kServed, reason, now_, out);
  } else {
    table_.release(streams_.at(any_of(streams_)).ref, reason, now_, out);
  }
  take(out);
}

// As when a device of several takes no work for now: its places are apart, or gone.
void World::allow(SessionActions& out) {
  allowed_ = 1 + below(limits_.max_resident);
  const std::uint64_t apart = chance(50) ? limits_.max_resident - allowed_ : 0;
  table_.allow_resident(allowed_, now_, out);
  table_.set_aside([apart](StateSlot slot) { return slot / 2 < apart; }, now_, out);
}

void World::pass_time() {
  now_ += Duration(below(limits_.idle_expiry.count() / (chance(20) ? 1 : 20) + 1));
  std::set<Id> before;
  for (const auto& [id, stream] : streams_) {
    if (live(id)) before.insert(id);
  }
  SessionActions out;
  table_.tick(now_, out);
  take(out);
  check_expiries(before);
  const auto wakeup = table_.next_wakeup();
  EXPECT_TRUE(!wakeup || *wakeup > now_);
}

void World::check_expiries(const std::set<Id>& live_before) {
  for (const Id id : live_before) {
    const Stream& stream = streams_.at(id);
    const bool busy = runs_.contains(id) || restores_.contains(id);
    if (!live(id)) {
      EXPECT_FALSE(busy) << "it expired while it was at work";
      EXPECT_GE(now_ - stream.taken, limits_.idle_expiry) << "it expired too early";
    } else if (!busy && stream.open == 0) {
      EXPECT_LT(now_ - stream.touched, limits_.idle_expiry) << "it should have expired";
    }
  }
}

void World::settle() {
  for (int rounds = 0; !runs_.empty() || !spills_.empty() || !restores_.empty(); ++rounds) {
    ASSERT_LT(rounds, 10'000) << "states come and go, and nothing runs";
    if (!runs_.empty()) finish(any_of(runs_), true);
    if (!spills_.empty()) spill(any_of(spills_), true);
    if (!restores_.empty()) restore(any_of(restores_), true);
    check_bounds();
  }
  // What still waits, waits for a part that never came.
  for (const std::uint64_t request : open_) {
    const Asked& asked = asked_.at(request);
    EXPECT_GT(asked.sequence, streams_.at(asked.session).states.size());
  }
  EXPECT_EQ(table_.stats().in_line, 0U);
}

void World::drain() {
  draining_ = true;
  SessionActions out;
  table_.drain(now_, out);
  take(out);
  for (int i = 0; i < 5; ++i) {
    begin();
    send();
  }
  settle();
}

void World::check_nothing_is_left() {
  now_ += limits_.remember;
  SessionActions out;
  table_.tick(now_, out);
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(open_.empty()) << open_.size() << " requests were never answered";
  EXPECT_TRUE(host_.empty());
  EXPECT_TRUE(owners_.empty());
  EXPECT_EQ(outputs_, 0);
  EXPECT_EQ(table_.next_wakeup(), std::nullopt);
  const SessionStats stats = table_.stats();
  EXPECT_EQ(stats.live + stats.ending + stats.remembered, 0U);
  EXPECT_EQ(stats.resident + stats.spilled + stats.copying + stats.in_line, 0U);
  EXPECT_EQ(stats.running + stats.waiting + stats.kept_outputs + stats.kept_bytes, 0U);
  std::uint64_t ends = 0;
  for (const std::uint64_t count : stats.releases) ends += count;
  EXPECT_EQ(ends, stats.begun);
}

}  // namespace volvox::desk
