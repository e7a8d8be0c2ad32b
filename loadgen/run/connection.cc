#include "loadgen/run/connection.h"

#include <algorithm>

namespace volvox {
namespace {

using std::chrono::milliseconds;

// Requests sent between two looks at the replies: about as many as a look brings, for one who is late must
// not leave replies to gather.
constexpr int kBurst = 4;
// How long a slot of a closed loop rests after a failure: a server that refuses at once is not to be flooded.
constexpr milliseconds kRest{5};
// How long to listen after the last answer, for answers that should not come.
constexpr milliseconds kLinger{50};
// How much a sender that was held up may hurry beyond its highest rate to catch up.
constexpr milliseconds kHurry{100};
// Nobody needs to be awake earlier than this before a load begins.
constexpr milliseconds kReadyBefore{1};
// The longest that a loop waits without looking at its stop token.
constexpr milliseconds kLook{100};

ArrivalSchedule schedule_of(const ConnectionPlan& plan, const RequestMix& mix) {
  if (plan.arrivals == Arrivals::kCurve) return {plan.curve, plan.rate, plan.seed};
  if (plan.arrivals == Arrivals::kTrace) return {mix.trace(), plan.first_index, plan.index_step};
  return {plan.arrivals, plan.rate > 0 ? plan.rate : 1.0, plan.first, plan.seed};
}

}  // namespace

LoadConnection::LoadConnection(const ConnectionPlan& plan, const RequestMix& mix, LoadLink& link,
                               LoadProgress& progress, Duration awake)
    : plan_(plan),
      mix_(mix),
      link_(link),
      progress_(progress),
      awake_(awake),
      schedule_(schedule_of(plan, mix)),
      samples_(plan.samples, plan.seed + 1),
      by_class_(mix.classes().size()) {}

void LoadConnection::run(TimePoint start, const std::stop_token& stop) {
  start_ = start;
  if (plan_.arrivals == Arrivals::kClosed) {
    slots_.assign(plan_.concurrency, start);
  } else {
    due_ = start + schedule_.next();
  }
  while (!link_lost_) {
    if (stop.stop_requested()) sending_ = false;
    send_due();
    cancel_due(link_.now());
    expire(link_.now());
    if (!sending_ && in_flight_.empty()) break;
    receive(next_event());
  }
  linger();
}

// Whether the next request's time has come; ends the sending when the plan's end has.
bool LoadConnection::may_send(TimePoint now) {
  if (!sending_) return false;
  const bool closed = plan_.arrivals == Arrivals::kClosed;
  if (closed && slots_.empty()) return false;
  const TimePoint when = closed ? std::max(slots_.front(), now) : due_;
  const bool time_is_up = plan_.measured.count() > 0 && when >= start_ + plan_.warmup + plan_.measured;
  const bool schedule_ends = !closed && due_ - start_ >= kNeverDue;
  if (time_is_up || schedule_ends || (plan_.requests > 0 && offered_ >= plan_.requests)) {
    sending_ = false;
    return false;
  }
  return next_turn() <= now;
}

// When the schedule, or a slot, and the highest rate let the next request go.
TimePoint LoadConnection::next_turn() const {
  const TimePoint due = plan_.arrivals == Arrivals::kClosed ? slots_.front() : due_;
  return plan_.highest_rate > 0 ? std::max(due, allowed_ - kHurry) : due;
}

void LoadConnection::send_due() {
  for (int i = 0; i < kBurst; ++i) {
    const TimePoint now = link_.now();
    if (!may_send(now)) return;
    if (plan_.arrivals == Arrivals::kClosed) {
      slots_.pop_front();
      send_one(now);
    } else {
      send_one(due_);
      due_ = start_ + schedule_.next();
    }
  }
}

void LoadConnection::send_one(TimePoint scheduled) {
  const std::uint64_t index = plan_.first_index + made_++ * plan_.index_step;
  const std::uint64_t id = index + 1;  // 0 is no request's id
  mix_.make(index, content_);
  const RequestTemplate& common = mix_.common(content_);
  if (plan_.highest_rate > 0)
    allowed_ = std::max(allowed_, link_.now()) +
               Duration(static_cast<Duration::rep>(1e9 / std::max(plan_.highest_rate, 1e-3)));
  const Flight flight{index, content_.of_class, scheduled, link_.now(), scheduled >= start_ + plan_.warmup};
  const Status sent = link_.send(id, content_);
  note_offered(flight, link_.now());
  if (!sent) {
    give_up(flight, std::string(to_string(sent.error().code)), sent.error().message, flight.sent);
    return;
  }
  in_flight_.emplace(id, flight);
  by_age_.emplace_back(flight.sent, id);
  const double chance = common.cancel_fraction > 0 ? SeededRandom::for_item(plan_.seed, index).unit() : 1.0;
  if (chance < common.cancel_fraction) cancels_.emplace(flight.sent + common.cancel_after, id);
}

void LoadConnection::cancel_due(TimePoint now) {
  for (; !cancels_.empty() && cancels_.begin()->first <= now; cancels_.erase(cancels_.begin())) {
    const std::uint64_t id = cancels_.begin()->second;
    if (in_flight_.contains(id)) link_.cancel(id);
  }
}

void LoadConnection::note_offered(const Flight& flight, TimePoint now) {
  progress_.offered.fetch_add(1, std::memory_order_relaxed);
  LoadTally& tally = tally_of(flight);
  if (!flight.measured) {
    ++tally.warmup_offered;
    return;
  }
  ++offered_;
  ++tally.offered;
  if (plan_.arrivals != Arrivals::kClosed) {
    if (last_sent_ != TimePoint()) apart_.gaps.add(flight.scheduled - last_scheduled_, now - last_sent_);
    last_scheduled_ = flight.scheduled;
    last_sent_ = now;
  }
  const Duration late = now - flight.scheduled;
  tally.late.record(late);
  const auto late_ns = static_cast<std::uint64_t>(std::max<Duration::rep>(late.count(), 0));
  std::uint64_t worst = progress_.worst_late_ns.load(std::memory_order_relaxed);
  while (late_ns > worst &&
         !progress_.worst_late_ns.compare_exchange_weak(worst, late_ns, std::memory_order_relaxed)) {
  }
}

TimePoint LoadConnection::next_event() const {
  const TimePoint now = link_.now();
  TimePoint next = now + kLook;
  if (sending_ && (plan_.arrivals != Arrivals::kClosed || !slots_.empty()))
    next = std::min(next, std::max(next_turn() - awake_, start_ - kReadyBefore));
  if (!cancels_.empty()) next = std::min(next, cancels_.begin()->first);
  if (!by_age_.empty()) next = std::min(next, by_age_.front().first + plan_.timeout);
  return std::max(next, now);
}

void LoadConnection::receive(TimePoint until) {
  replies_.clear();
  const Status status = link_.receive(until - link_.now(), replies_);
  const TimePoint now = link_.now();
  for (const Reply& reply : replies_) settle(reply, now);
  if (!status) lose_link(status.error());
}

void LoadConnection::settle(const Reply& reply, TimePoint now) {
  const std::uint64_t id = reply.header.request_id;
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) {
    if (!lost_.contains(id)) ++apart_.duplicates;
    if (reply.header.final) lost_.erase(id);
    return;
  }
  if (!reply.header.final) return;
  const Flight flight = found->second;
  in_flight_.erase(found);
  if (reply.header.kind == ReplyKind::kResult) {
    complete(flight, reply, now);
  } else {
    refuse(flight, reply, now);
  }
}

// The server's own word, whatever it is.
void LoadConnection::refuse(const Flight& flight, const Reply& reply, TimePoint now) {
  const Error& error = reply.header.error;
  give_up(flight, std::string(to_string(error.code)), error.message, now);
  const bool of_bounds = error.code == ErrorCode::kOverloaded || error.code == ErrorCode::kDeadlineExceeded;
  if (reply.local || !of_bounds || !flight.measured) return;
  LoadTally& tally = tally_of(flight);
  tally.refused.record(now - flight.sent);
  if (reply.header.retry_after_us > 0) tally.retry_after.record(wire_span(reply.header.retry_after_us));
}

void LoadConnection::complete(const Flight& flight, const Reply& reply, TimePoint now) {
  const Duration latency = now - flight.scheduled;
  progress_.completed.fetch_add(1, std::memory_order_relaxed);
  progress_.latency_ns.fetch_add(static_cast<std::uint64_t>(latency.count()), std::memory_order_relaxed);
  if (plan_.arrivals == Arrivals::kClosed) slots_.push_front(now);
  LoadTally& tally = tally_of(flight);
  ++tally.outcomes[kAnswered];
  if (!flight.measured) {
    ++tally.warmup_completed;
    return;
  }
  ++tally.completed;
  const Duration deadline = mix_.classes()[flight.of_class].common.deadline;
  if (deadline == Duration(0) || now - flight.sent <= deadline) ++tally.on_time;
  tally.latency.record(latency);
  tally.queue.record(std::chrono::microseconds(reply.header.timings.queue_us));
  tally.compute.record(std::chrono::microseconds(reply.header.timings.compute_us));
  tally.last_answer = std::max(tally.last_answer, now);
  samples_.offer(flight.index, reply.body);
  note_end(flight, kAnswered, now);
}

void LoadConnection::give_up(const Flight& flight, const std::string& code, const std::string& message,
                             TimePoint now) {
  progress_.failed.fetch_add(1, std::memory_order_relaxed);
  if (plan_.arrivals == Arrivals::kClosed) slots_.push_back(now + kRest);
  LoadTally& tally = tally_of(flight);
  tally.first_error.try_emplace(code, message);
  ++tally.outcomes[code];
  if (flight.measured) ++tally.errors[code];
  note_end(flight, code, now);
}

void LoadConnection::note_end(const Flight& flight, const std::string& outcome, TimePoint now) {
  if (plan_.timeline && flight.measured)
    timeline_.push_back({flight.scheduled, now - flight.scheduled, outcome});
}

void LoadConnection::expire(TimePoint now) {
  while (!by_age_.empty()) {
    const auto [sent, id] = by_age_.front();
    const auto found = in_flight_.find(id);
    if (found != in_flight_.end()) {
      if (now < sent + plan_.timeout) return;
      give_up(found->second, kLost, "no reply within the time that this client waits for one", now);
      in_flight_.erase(found);
      lost_.insert(id);
    }
    by_age_.pop_front();
  }
}

void LoadConnection::lose_link(const Error& error) {
  link_lost_ = true;
  const std::string code(to_string(error.code));
  for (const auto& [id, flight] : in_flight_) give_up(flight, code, error.message, link_.now());
  in_flight_.clear();
}

void LoadConnection::linger() {
  const TimePoint end = link_.now() + kLinger;
  for (TimePoint now = link_.now(); now < end && !link_lost_; now = link_.now()) receive(end);
  const LinkCounts counts = link_.counts();
  apart_.duplicates += counts.duplicates;
  apart_.late_answers += counts.late;
  apart_.resent += counts.resent;
}

LoadTally LoadConnection::tally() const {
  LoadTally all = apart_;
  for (const LoadTally& one : by_class_) all.merge(one);
  return all;
}

}  // namespace volvox
