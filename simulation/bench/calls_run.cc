#include "simulation/bench/calls_run.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "install/session_rows.h"
#include "simulation/bench/statistics.h"

namespace volvox::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds(2);

}  // namespace

CallsRun::CallsRun(EngineSetup& setup, const EngineOptions& options, const Configuration& configuration,
                   std::uint32_t calls, std::uint64_t seed)
    : setup_(setup),
      options_(options),
      configuration_(configuration),
      period_(seconds_of(options.period_ms * 1e-3)),
      chance_(seed),
      calls_(calls) {
  for (Call& call : calls_) call.phase = seconds_of(in_seconds(period_) * chance_.unit());
  std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) { return a.phase < b.phase; });
}

Status CallsRun::start() {
  const SessionRows& sessions = setup_.model().sessions;
  if (!sessions.possible) return invalid("the model does not run in sessions, which calls are");
  if (sessions.places < calls_.size())
    return invalid("there is room for the states of " + std::to_string(sessions.places) +
                   " calls on the device; run so many at most");
  for (Call& call : calls_) {
    auto results = setup_.results();
    if (!results) return tl::unexpected(results.error());
    call.results = std::move(*results);
  }
  auto engine = make_engine(setup_, options_, configuration_);
  if (!engine) return tl::unexpected(engine.error());
  engine_ = std::move(*engine);
  return {};
}

TimePoint CallsRun::due_at(const Call& call, std::uint64_t part) const {
  return start_ + call.phase + period_ * static_cast<Duration::rep>(part);
}

// Every call's part number `round_`, in the order of phases, and then the next round.
Status CallsRun::take_due(TimePoint now) {
  while (next_due() <= now && next_due() < to_) {
    const std::uint32_t index = next_call_;
    Call& call = calls_[index];
    ++call.due;
    ++outstanding_;
    measured_ += is_measured(next_due()) ? 1 : 0;
    if (++next_call_ == calls_.size()) {
      next_call_ = 0;
      ++round_;
    }
    if (call.busy) continue;
    if (Status ok = begin_part(index); !ok) return ok;
  }
  return {};
}

Status CallsRun::begin_part(std::uint32_t index) {
  Call& call = calls_[index];
  call.sample = chance_.below(setup_.samples());
  auto request = setup_.request(call.sample, call.results.address);
  if (!request) return tl::unexpected(request.error());
  // Two slots of a place, by turns: a part reads what the one before it has written.
  const auto slot = [&](std::uint64_t part) { return 2 * index + static_cast<std::uint32_t>(part % 2); };
  std::optional<CarriedState> from;
  if (call.begun > 0) from = CarriedState{slot(call.begun - 1), 1};
  carry(setup_.model().sessions, from, slot(call.begun), index, *request);
  request->tag = index;
  request->arrival = due_at(call, call.begun);
  const AdmitResult admitted = engine_->admit(std::move(*request));
  if (admitted.kind == AdmitResult::Kind::kNeverFits || admitted.kind == AdmitResult::Kind::kFull)
    return invalid("a part was refused: " + admitted.reason);
  call.busy = true;
  ++call.begun;
  return {};
}

Status CallsRun::take(const Event& event) {
  const auto index = static_cast<std::uint32_t>(event.tag);
  Call& call = calls_[index];
  call.busy = false;
  --outstanding_;
  if (event.kind != Event::Kind::kDone) return fail(ErrorCode::kInternal, engine_->last_failure());
  // Only a call's first part begins where all others' do.
  if (call.begun == 1 && !setup_.verify(call.sample, call.results)) ++mismatched_;
  const TimePoint due = due_at(call, call.begun - 1);
  if (is_measured(due)) {
    const Duration took = engine_->now() - due;
    latencies_ms_.push_back(in_seconds(took) * 1e3);
    late_ += took > period_ ? 1 : 0;
  }
  return call.begun < call.due ? begin_part(index) : Status{};
}

Status CallsRun::go() {
  start_ = engine_->now() + std::chrono::milliseconds(5);
  from_ = start_ + seconds_of(options_.warm_up_seconds);
  to_ = from_ + seconds_of(options_.seconds);
  bool measuring = false, ended = false;
  while (!ended || next_due() < to_ || (outstanding_ > 0 && engine_->now() < to_ + kPatience)) {
    const TimePoint now = engine_->now();
    if (Status ok = take_due(now); !ok) return ok;
    events_.clear();
    const Duration left = next_due() < to_ ? next_due() - engine_->now() : kLongestTurn;
    if (Status ok = engine_->turn(std::clamp(left, Duration{0}, kLongestTurn), events_); !ok) return ok;
    for (const Event& event : events_) {
      if (Status ok = take(event); !ok) return ok;
    }
    if (!measuring && engine_->now() >= from_) {
      begin_ = mark_of(*engine_);
      measuring = true;
    }
    if (!ended && engine_->now() >= to_) {
      end_ = mark_of(*engine_);
      ended = true;
    }
  }
  return {};
}

// What was not done in time counts with the time that it has waited so far, and is late.
EngineResult CallsRun::result() const {
  EngineResult r;
  r.completed = latencies_ms_.size();
  add_work(begin_, end_, setup_, r);
  const TypeTotals& a = begin_.totals[setup_.core_type()];
  const TypeTotals& b = end_.totals[setup_.core_type()];
  r.offered_rps = static_cast<double>(calls_.size()) / in_seconds(period_);
  r.throughput_rps = ratio(static_cast<double>(b.rows - a.rows), r.seconds);
  r.useful_gflops = r.throughput_rps * setup_.model().flops_per_step() * 1e-9;
  r.unfinished = measured_ - r.completed;
  std::vector<double> all = latencies_ms_;
  for (const Call& call : calls_) {
    for (std::uint64_t part = call.begun - (call.busy ? 1 : 0); part < call.due; ++part) {
      const TimePoint due = due_at(call, part);
      if (is_measured(due)) all.push_back(in_seconds(engine_->now() - due) * 1e3);
    }
  }
  r.late_fraction = ratio(static_cast<double>(late_ + r.unfinished), static_cast<double>(measured_));
  r.p50_ms = percentile(all, 0.5);
  r.p90_ms = percentile(all, 0.9);
  r.p99_ms = percentile(all, 0.99);
  r.max_ms = percentile(all, 1.0);
  r.mismatched = mismatched_;
  return r;
}

Result<EngineResult> CallsRun::run() {
  Status ok = start();
  if (ok) ok = go();
  if (!ok) return tl::unexpected(ok.error());
  return result();
}

}  // namespace volvox::bench
