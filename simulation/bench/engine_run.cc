#include "simulation/bench/engine_run.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "simulation/bench/statistics.h"

namespace volvox::bench {
namespace {

// Threads that make requests: one for so many processors.
constexpr unsigned kProcessorsEach = 4, kMostFeeds = 4;

}  // namespace

EngineRun::EngineRun(EngineSetup& setup, const EngineOptions& options, const Configuration& configuration,
                     const Load& load, std::uint64_t seed)
    : setup_(setup), options_(options), configuration_(configuration), load_(load), chance_(seed) {
  for (std::size_t i = 0; i < setup.samples(); ++i) flops_.push_back(setup.flops(i));
  const unsigned feeds = std::clamp(std::thread::hardware_concurrency() / kProcessorsEach, 1U, kMostFeeds);
  for (unsigned i = 0; setup.brings_inputs() && i < feeds; ++i)
    feeds_.push_back(std::make_unique<RequestFeed>(setup, seed * kMostFeeds + i));
}

Status EngineRun::start() {
  auto engine = make_engine(setup_, options_, configuration_);
  if (!engine) return tl::unexpected(engine.error());
  engine_ = std::move(*engine);
  return {};
}

Result<Request> EngineRun::make_request(Live& live) {
  if (!feeds_.empty()) {
    live.feed = feeds_[turn_++ % feeds_.size()].get();
    auto ready = live.feed->take();
    if (!ready) return tl::unexpected(ready.error());
    live.sample = ready->sample;
    live.results = std::move(ready->memory.results);
    live.inputs = std::move(ready->memory.inputs);
    return std::move(ready->request);
  }
  if (live.results.host == nullptr) {
    auto results = setup_.results();
    if (!results) return tl::unexpected(results.error());
    live.results = std::move(*results);
  }
  live.sample = chance_.below(setup_.samples());
  return setup_.request(live.sample, live.results.address);
}

Status EngineRun::admit(TimePoint arrival, bool in_window) {
  if (free_.empty()) {
    free_.push_back(live_.size());
    live_.emplace_back();
  }
  const std::size_t slot = free_.back();
  Live& live = live_[slot];
  live.arrival = arrival;
  auto request = make_request(live);
  if (!request) return tl::unexpected(request.error());
  request->tag = slot;
  request->arrival = arrival;
  const AdmitResult admitted = engine_->admit(std::move(*request));
  if (admitted.kind == AdmitResult::Kind::kNeverFits) return invalid(admitted.reason);
  if (admitted.kind == AdmitResult::Kind::kFull) {
    ++refused_;
    return {};
  }
  free_.pop_back();
  live.busy = true;
  live.in_window = in_window;
  ++outstanding_;
  in_window_ += in_window ? 1 : 0;
  return {};
}

void EngineRun::take(const Event& event) {
  // Decoders tell how far they are; here nobody ends one before its last step.
  if (event.kind == Event::Kind::kStepDone || event.kind == Event::Kind::kNodeDone) return;
  Live& live = live_[event.tag];
  live.busy = false;
  free_.push_back(event.tag);
  --outstanding_;
  in_window_ -= live.in_window ? 1 : 0;
  if (event.kind != Event::Kind::kDone) {
    ++failed_;
    return;
  }
  ++completed_;
  useful_flops_ += flops_[live.sample];
  if (!setup_.verify(live.sample, live.results)) ++mismatched_;
  if (live.feed != nullptr) live.feed->give_back({std::move(live.results), std::move(live.inputs)});
  if (live.in_window) latencies_ms_.push_back(in_seconds(engine_->now() - live.arrival) * 1e3);
}

Status EngineRun::turn(Duration timeout) {
  events_.clear();
  if (Status ok = engine_->turn(std::clamp(timeout, Duration{0}, kLongestTurn), events_); !ok) return ok;
  for (const Event& event : events_) take(event);
  return {};
}

EngineRun::Mark EngineRun::mark() {
  Mark mark{mark_of(*engine_), completed_, useful_flops_};
  for (const auto& feed : feeds_) {
    mark.engine.making_cpu_ns += feed->thread_cpu_ns();
    mark.engine.waiting_cpu_ns += feed->waiting_cpu_ns();
  }
  return mark;
}

Status EngineRun::run_closed() {
  const TimePoint start = engine_->now();
  bool measuring = false;
  while (true) {
    while (outstanding_ < load_.outstanding) {
      if (Status ok = admit(engine_->now(), measuring); !ok) return ok;
    }
    const std::uint64_t before = completed_;
    if (Status ok = turn(kLongestTurn); !ok) return ok;
    if (failed_ > 0) return fail(ErrorCode::kInternal, engine_->last_failure());
    const Duration passed = engine_->now() - (measuring ? begin_.engine.at : start);
    if (completed_ > before &&
        passed >= seconds_of(measuring ? options_.seconds : options_.warm_up_seconds)) {
      (measuring ? end_ : begin_) = mark();
      if (std::exchange(measuring, true)) return {};
    }
    if (passed > seconds_of(60 + 10 * options_.seconds))
      return fail(ErrorCode::kInternal, "nothing was completed");
  }
}

Status EngineRun::run_rate(double rate_rps) {
  const TimePoint start = engine_->now();
  const TimePoint from = start + seconds_of(options_.warm_up_seconds),
                  to = from + seconds_of(options_.seconds);
  const TimePoint limit = to + seconds_of(options_.seconds) + std::chrono::seconds(2);
  TimePoint next = start;
  bool measuring = false, ended = false;
  while (!ended || (in_window_ > 0 && engine_->now() < limit)) {
    const TimePoint now = engine_->now();
    for (; next <= now; next += seconds_of(chance_.exponential() / rate_rps)) {
      const bool inside = next >= from && next < to;
      arrivals_ += inside ? 1 : 0;
      if (Status ok = admit(next, inside); !ok) return ok;
    }
    if (Status ok = turn(next - engine_->now()); !ok) return ok;
    if (!measuring && engine_->now() >= from) {
      begin_ = mark();
      measuring = true;
    }
    if (!ended && engine_->now() >= to) {
      end_ = mark();
      ended = true;
    }
  }
  return {};
}

// What was not answered in time counts with the time that it has waited so far.
void EngineRun::add_latencies(EngineResult& result) const {
  std::vector<double> all = latencies_ms_;
  for (const Live& live : live_) {
    if (!live.busy || !live.in_window || load_.closed()) continue;
    all.push_back(in_seconds(engine_->now() - live.arrival) * 1e3);
    ++result.unfinished;
  }
  result.p50_ms = percentile(all, 0.5);
  result.p90_ms = percentile(all, 0.9);
  result.p99_ms = percentile(all, 0.99);
  result.max_ms = percentile(all, 1.0);
}

EngineResult EngineRun::result() const {
  EngineResult r;
  r.completed = end_.completed - begin_.completed;
  add_work(begin_.engine, end_.engine, setup_, r);
  r.offered_rps = ratio(static_cast<double>(arrivals_), options_.seconds);
  r.throughput_rps = ratio(static_cast<double>(r.completed), r.seconds);
  r.useful_gflops = ratio((end_.useful_flops - begin_.useful_flops) * 1e-9, r.seconds);
  r.failed = failed_;
  r.refused = refused_;
  r.mismatched = mismatched_;
  add_latencies(r);
  return r;
}

Result<EngineResult> EngineRun::run(double rate_rps) {
  Status ok = start();
  if (ok) ok = load_.closed() ? run_closed() : run_rate(rate_rps);
  if (!ok) return tl::unexpected(ok.error());
  return result();
}

}  // namespace volvox::bench
