#include "loadgen/calls/call_load.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "base/cpu_time.h"
#include "loadgen/calls/call_schedule.h"
#include "loadgen/calls/call_window.h"

namespace volvox {
namespace {

constexpr Duration kLongestWait = std::chrono::milliseconds(50);
constexpr Duration kAgain = std::chrono::milliseconds(20);  // after an error without advice
constexpr Duration kGrace = std::chrono::seconds(1);        // after the end, for frames that fail

Duration period_of(const CallAudio& audio) {
  return Duration(static_cast<Duration::rep>(1e9 * audio.hop() / audio.rate()));
}

double in_seconds(Duration span) {
  return std::chrono::duration<double>(span).count();
}

double process_cpu_seconds() {
  return 1e-9 * static_cast<double>(cpu_ns(CLOCK_PROCESS_CPUTIME_ID));
}

// The same frame may do better later.
bool is_passing(ErrorCode code) {
  return code == ErrorCode::kOverloaded || code == ErrorCode::kUnavailable ||
         code == ErrorCode::kDeadlineExceeded || code == ErrorCode::kCancelled ||
         code == ErrorCode::kInternal;
}

CallRhythm rhythm_of(const CallPlan& plan, const CallAudio& audio) {
  return {.calls = plan.calls,
          .period = period_of(audio),
          .jitter = plan.jitter,
          .leaves = plan.leaves,
          .ramp = plan.warmup,
          .seed = plan.seed};
}

// The calls of one connection.
class CallConnection {
 public:
  CallConnection(const CallPlan& plan, const CallAudio& audio)
      : plan_(plan),
        audio_(audio),
        schedule_(rhythm_of(plan, audio)),
        random_(SeededRandom::for_item(plan.seed, 1)),
        calls_(schedule_.slots()),
        scratch_(audio.window()) {
    outcome_.tally = CallTally(plan.late_after > Duration{0} ? plan.late_after : period_of(audio));
    outcome_.records.reserve(plan.recorded_calls);
    due_.reserve(calls_.size());
    retries_.reserve(calls_.size());
  }

  std::uint32_t slots() const { return schedule_.slots(); }
  void use(std::unique_ptr<CallLink> link) { link_ = std::move(link); }

  void run(TimePoint start, const std::stop_token& stop) {
    start_ = start;
    const CallLink::Handler handler = [this](const CallAnswer& answer) { settle(answer); };
    while (true) {
      const Duration at = now();
      if (!begun_ && at >= plan_.warmup) begin_measurement(at);
      if (!ended_ && (stop.stop_requested() || at >= plan_.warmup + plan_.measured)) end_measurement(at);
      if (ended_ && (schedule_.in_use() == 0 || at > ended_at_ + plan_.timeout)) break;
      send_due(at);
      send_again(now());
      static_cast<void>(link_->flush());  // what a broken connection lost, it answers as lost
      link_->receive(std::clamp(wake() - now(), Duration{0}, kLongestWait), handler);
    }
    outcome_.link = link_->counts();
  }

  CallOutcome take() { return std::move(outcome_); }

 private:
  static constexpr std::uint32_t kUnrecorded = ~std::uint32_t{0};
  struct Call {
    CallWindow window;
    CallVoice voice;
    std::uint64_t last = ~std::uint64_t{0};  // the frame that ends it …
    bool cut = false;                        // … without saying anything
    bool given_up = false;
    bool waits = false;  // for the time to send again
    Duration again{};
    std::uint32_t record = kUnrecorded;
  };

  Duration now() { return link_->now() - start_; }
  bool is_measured(Duration due) const {
    return due >= plan_.warmup && due < plan_.warmup + plan_.measured && due < ended_at_;
  }

  void begin_measurement(Duration at) {
    begun_ = true;
    begun_at_ = at;
    cpu_ = process_cpu_seconds();
    joins_ = schedule_.joined();
    leaves_ = schedule_.left();
    outcome_.dropped = outcome_.ended = 0;
  }

  void end_measurement(Duration at) {
    if (!begun_) begin_measurement(at);
    ended_ = true;
    ended_at_ = at;
    outcome_.seconds = in_seconds(at - begun_at_);
    outcome_.cpu_seconds = process_cpu_seconds() - cpu_;
    outcome_.joins = schedule_.joined() - joins_;
    outcome_.leaves = schedule_.left() - leaves_;
    outcome_.live = schedule_.live();
    schedule_.end();
  }

  // The end of the tick that `at` is in, where there are any.
  Duration tick_end(Duration at) const {
    return plan_.tick > Duration{0} ? (at + plan_.tick - Duration{1}) / plan_.tick * plan_.tick : at;
  }

  Duration wake() const {
    const Duration next = schedule_.next();
    Duration at = next == Duration::max() ? next : tick_end(next);
    if (!retries_.empty()) at = std::min(at, next_retry_);
    return at;
  }

  void send_due(Duration at) {
    due_.clear();
    schedule_.due(plan_.tick > Duration{0} ? at / plan_.tick * plan_.tick : at, due_);
    for (const DueFrame& frame : due_) {
      Call& call = calls_[frame.call];
      if (frame.first) begin(call);
      if (!call.window.add(frame.due, plan_.behind)) {
        outcome_.dropped += ended_ ? 0 : 1;
        if (is_measured(frame.due)) outcome_.tally.due();
        hang_up(frame.call);
        continue;
      }
      if (is_measured(frame.due)) outcome_.tally.due();
      if (frame.last) end_with_newest(call, frame.due);
      send_all(frame.call);
    }
  }

  // What begins a session cannot end it: a call of one frame ends with an empty one behind it.
  static void end_with_newest(Call& call, Duration due) {
    call.cut = call.window.end() == 1;
    if (call.cut) call.window.add(due);
    call.last = call.window.end() - 1;
  }

  void begin(Call& call) {
    call = {};
    call.voice = audio_.draw(random_);
    if (outcome_.records.size() >= plan_.recorded_calls) return;
    call.record = static_cast<std::uint32_t>(outcome_.records.size());
    outcome_.records.push_back({.voice = call.voice, .frames = 0, .outputs = {}});
  }

  // Whatever of the call may be sent.
  void send_all(std::uint32_t index) {
    Call& call = calls_[index];
    if (call.waits) return;
    while (const auto number = call.window.next()) {
      if (!send(index, *number)) return;
    }
  }

  bool send(std::uint32_t index, std::uint64_t number) {
    Call& call = calls_[index];
    CallFrame frame{.call = index, .ticket = CallFrame::ticket_of(index, ++serial_), .number = number};
    frame.last = number == call.last;
    frame.repeated = call.window.sendings(number) > 0;
    if (!frame.last || !call.cut) frame.samples = audio_.frame(call.voice, number, scratch_);
    if (const Status ok = link_->send(frame); !ok) {
      fail(index, ok.error(), Duration{0}, call.window.due(number));
      return false;
    }
    const Duration due = call.window.due(number);
    if (is_measured(due) && !frame.samples.empty()) outcome_.tally.sent(now() - due, frame.repeated);
    call.window.sent(number, frame.ticket);
    return true;
  }

  void settle(const CallAnswer& answer) {
    const std::size_t slot = CallFrame::slot_of(answer.ticket);
    if (slot >= calls_.size()) return;
    const auto index = static_cast<std::uint32_t>(slot);
    Call& call = calls_[index];
    const auto number = call.window.find(answer.ticket);
    if (!number) return;
    if (answer.error != nullptr) {
      const Duration due = call.window.due(*number);
      call.window.failed(*number);
      return fail(index, *answer.error, answer.retry_after, due);
    }
    const CallWindow::Answered done = call.window.answered(*number);
    const bool says_something = *number != call.last || !call.cut;
    if (says_something && is_measured(done.due)) outcome_.tally.answered(now() - done.due);
    if (says_something && call.record != kUnrecorded) record(call, *number, answer.outputs);
    // Answers in different messages may come in another order: the last frame's is not always the last.
    const bool said_all = call.last < call.window.end();
    if (said_all && call.window.empty()) return over(index);
    send_all(index);
  }

  void fail(std::uint32_t index, const Error& error, Duration advice, Duration due) {
    Call& call = calls_[index];
    if (is_measured(due)) outcome_.tally.failed(error);
    if (call.given_up && (error.code != ErrorCode::kOverloaded || !call.window.begun())) return over(index);
    if (!is_passing(error.code) || (ended_ && now() > ended_at_ + kGrace)) {
      outcome_.ended += ended_ ? 0 : 1;
      schedule_.hang_up(index);
      return over(index);
    }
    call.again = now() + std::max(advice, kAgain);
    next_retry_ = retries_.empty() ? call.again : std::min(next_retry_, call.again);
    if (!std::exchange(call.waits, true)) retries_.push_back(index);
  }

  // Those whose time has come; there are none as long as nothing fails.
  void send_again(Duration at) {
    if (retries_.empty() || at < next_retry_) return;
    ready_.clear();
    std::erase_if(retries_, [&](std::uint32_t index) {
      if (calls_[index].waits && calls_[index].again > at) return false;
      if (std::exchange(calls_[index].waits, false)) ready_.push_back(index);
      return true;
    });
    next_retry_ = Duration::max();
    for (const std::uint32_t index : retries_) next_retry_ = std::min(next_retry_, calls_[index].again);
    for (const std::uint32_t index : ready_) send_all(index);
  }

  // It has fallen too far behind: what it has not said is dropped, and the server is told that it is over.
  void hang_up(std::uint32_t index) {
    Call& call = calls_[index];
    schedule_.hang_up(index);
    if (std::exchange(call.given_up, true)) return;
    if (!call.window.begun() && call.window.under_way() == 0) return over(index);
    call.window.cut(now());
    call.cut = true;
    call.last = call.window.end() - 1;
    call.waits = false;
    send_all(index);
  }

  void over(std::uint32_t index) {
    calls_[index].window = {};
    calls_[index].waits = false;
    schedule_.release(index);
  }

  void record(Call& call, std::uint64_t number, std::span<const WireTensor> outputs) {
    CallRecord& record = outcome_.records[call.record];
    if (number != record.frames || record.frames >= plan_.recorded_frames) return;
    record.outputs.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      record.outputs[i].insert(record.outputs[i].end(), outputs[i].bytes.begin(), outputs[i].bytes.end());
    ++record.frames;
  }

  const CallPlan plan_;
  const CallAudio& audio_;
  CallSchedule schedule_;
  SeededRandom random_;
  std::unique_ptr<CallLink> link_;
  TimePoint start_{};
  std::vector<Call> calls_;
  std::vector<DueFrame> due_;
  std::vector<std::uint32_t> retries_, ready_;
  Duration next_retry_ = Duration::max();
  std::vector<float> scratch_;
  std::uint64_t serial_ = 0;
  bool begun_ = false, ended_ = false;
  Duration begun_at_{}, ended_at_ = Duration::max();
  double cpu_ = 0;
  std::uint64_t joins_ = 0, leaves_ = 0;
  CallOutcome outcome_;
};

Status check_plan(const CallPlan& plan, const CallAudio& audio) {
  constexpr std::uint32_t kMostCalls = 1U << 22;
  if (plan.calls == 0 || plan.calls > kMostCalls)
    return invalid("calls: from 1 to " + std::to_string(kMostCalls));
  if (plan.connections == 0 || plan.connections > plan.calls)
    return invalid("connections: from 1 to as many as there are calls");
  const Duration period = period_of(audio);
  if (period < CallSchedule::kTick || period > CallSchedule::kLongestPeriod)
    return invalid("a hop of " + std::to_string(audio.hop()) + " samples at " + std::to_string(audio.rate()) +
                   " a second: frames come every 0.1 ms to 10 s");
  if (plan.jitter < Duration{0} || plan.jitter > period)
    return invalid("jitter: at most the " + std::to_string(in_seconds(period) * 1e3) + " ms between frames");
  if (!(plan.leaves >= 0 && plan.leaves <= 10))
    return invalid("churn: a fraction of the calls, from 0 to 10");
  if (plan.behind == 0 || plan.behind > CallWindow::kMost)
    return invalid("behind: from 1 to " + std::to_string(CallWindow::kMost) + " frames");
  return {};
}

// What one of the connections does.
CallPlan share_of(const CallPlan& plan, std::uint32_t connection) {
  const auto part = [&](std::uint32_t whole) {
    return whole / plan.connections + (connection < whole % plan.connections ? 1 : 0);
  };
  CallPlan share = plan;
  share.calls = part(plan.calls);
  share.recorded_calls = part(plan.recorded_calls);
  share.seed = SeededRandom::for_item(plan.seed, connection).next();
  return share;
}

}  // namespace

void CallOutcome::merge(CallOutcome&& other) {
  tally.merge(other.tally);
  link.duplicates += other.link.duplicates;
  link.late_answers += other.link.late_answers;
  link.resent += other.link.resent;
  joins += other.joins;
  leaves += other.leaves;
  dropped += other.dropped;
  ended += other.ended;
  live += other.live;
  seconds = std::max(seconds, other.seconds);
  cpu_seconds = std::max(cpu_seconds, other.cpu_seconds);  // each has that of the process
  std::move(other.records.begin(), other.records.end(), std::back_inserter(records));
}

Result<CallOutcome> run_call_load(const CallPlan& plan, const CallAudio& audio, const CallLinkFactory& open,
                                  const std::stop_token& stop) {
  if (const Status ok = check_plan(plan, audio); !ok) return tl::unexpected(ok.error());
  std::vector<std::unique_ptr<CallConnection>> connections;
  TimePoint start{};
  for (std::uint32_t i = 0; i < plan.connections; ++i) {
    connections.push_back(std::make_unique<CallConnection>(share_of(plan, i), audio));
    auto link = open(connections.back()->slots());
    if (!link) return tl::unexpected(link.error());
    start = (*link)->now();
    connections.back()->use(std::move(*link));
  }
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < connections.size(); ++i)
    threads.emplace_back([&, i] { connections[i]->run(start, stop); });
  connections.front()->run(start, stop);
  for (std::jthread& thread : threads) thread.join();
  CallOutcome outcome = connections.front()->take();
  for (std::size_t i = 1; i < connections.size(); ++i) outcome.merge(connections[i]->take());
  return outcome;
}

}  // namespace volvox
