#include "loadgen/calls/call_schedule.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace volvox {
namespace {

Duration scaled(Duration span, double factor) {
  constexpr double kNever = 0x1.0p62;  // 146 years
  const double ns = static_cast<double>(span.count()) * factor;
  return Duration(static_cast<Duration::rep>(std::min(ns, kNever)));
}

}  // namespace

CallSchedule::CallSchedule(const CallRhythm& rhythm) : rhythm_(rhythm), random_(rhythm.seed) {
  rhythm_.calls = std::max(rhythm_.calls, 1U);
  rhythm_.period = std::clamp(rhythm_.period, kTick, kLongestPeriod);
  rhythm_.jitter = std::clamp(rhythm_.jitter, Duration{0}, rhythm_.period);
  calls_.resize(2 * std::size_t{rhythm_.calls});
  for (std::uint32_t call = slots(); call-- > 0;) free_.push_back(call);
  live_.reserve(rhythm_.calls);
  // The next frame of a call is at most two periods ahead, and rounded up.
  wheel_.assign(std::bit_ceil(tick_of(2 * rhythm_.period) + 2), kNone);
  const Duration ramp = std::max(rhythm_.ramp, rhythm_.period);
  for (std::uint32_t i = 0; i < rhythm_.calls; ++i) first_joins_.push_back(scaled(ramp, random_.unit()));
  std::sort(first_joins_.begin(), first_joins_.end(), std::greater<>{});
  if (rhythm_.leaves > 0)
    next_leave_ =
        ramp + scaled(std::chrono::seconds(1), random_.exponential() / (rhythm_.leaves * rhythm_.calls));
}

// Rounded up.
std::uint64_t CallSchedule::tick_of(Duration time) const {
  return static_cast<std::uint64_t>((time + kTick - Duration{1}) / kTick);
}

void CallSchedule::due(Duration now, std::vector<DueFrame>& out) {
  const auto until = static_cast<std::uint64_t>(std::max(now, Duration{0}) / kTick);
  while (tick_ < until) {
    ++tick_;
    change(kTick * static_cast<Duration::rep>(tick_));
    if (wheel_[tick_ & (wheel_.size() - 1)] != kNone) run_tick(out);
  }
}

// Who joins and leaves by then.
void CallSchedule::change(Duration at) {
  while (!first_joins_.empty() && first_joins_.back() <= at) {
    join(first_joins_.back());
    first_joins_.pop_back();
  }
  while (next_leave_ <= at) {
    const Duration when = next_leave_;
    next_leave_ += scaled(std::chrono::seconds(1), random_.exponential() / (rhythm_.leaves * rhythm_.calls));
    if (live_.empty()) continue;
    leave(live_[random_.below(live_.size())]);
    join(when);
  }
}

void CallSchedule::run_tick(std::vector<DueFrame>& out) {
  std::uint32_t call = std::exchange(wheel_[tick_ & (wheel_.size() - 1)], kNone);
  while (call != kNone) {
    Call& c = calls_[call];
    const std::uint32_t after = c.after;
    c.scheduled = false;
    --scheduled_;
    if (c.state == State::kReleased) {
      free(call);  // and perhaps used again at once
    } else if (c.state != State::kSilent) {
      const bool last = c.state == State::kLeaving;
      out.push_back({call, !c.begun, last, kTick * static_cast<Duration::rep>(tick_)});
      c.begun = true;
      c.nominal += rhythm_.period;
      if (last) {
        c.state = State::kSilent;
      } else {
        schedule(call);
      }
    }
    call = after;
  }
}

// Never into the list of the tick that runs.
void CallSchedule::schedule(std::uint32_t call) {
  Call& c = calls_[call];
  Duration at = c.nominal;
  if (rhythm_.jitter > Duration{0}) at += scaled(rhythm_.jitter, random_.unit());
  const std::uint64_t tick = std::max(tick_of(at), tick_ + 1);
  std::uint32_t& first = wheel_[tick & (wheel_.size() - 1)];
  c.after = std::exchange(first, call);
  c.scheduled = true;
  ++scheduled_;
}

// Its first frame has been said a period later.
void CallSchedule::join(Duration at) {
  if (ended_) return;
  if (free_.empty()) {
    ++owed_;
    return;
  }
  const std::uint32_t call = free_.back();
  free_.pop_back();
  ++in_use_;
  ++joined_;
  calls_[call] = {.nominal = at + rhythm_.period,
                  .place = static_cast<std::uint32_t>(live_.size()),
                  .state = State::kLive};
  live_.push_back(call);
  schedule(call);
}

void CallSchedule::leave(std::uint32_t call) {
  Call& c = calls_[call];
  c.state = State::kLeaving;
  live_[c.place] = live_.back();
  calls_[live_[c.place]].place = c.place;
  live_.pop_back();
  ++left_;
}

void CallSchedule::hang_up(std::uint32_t call) {
  Call& c = calls_[call];
  const bool live = c.state == State::kLive;
  if (!live && c.state != State::kLeaving) return;
  if (live) leave(call);
  c.state = State::kSilent;
  if (live) join(kTick * static_cast<Duration::rep>(tick_));
}

void CallSchedule::release(std::uint32_t call) {
  Call& c = calls_[call];
  if (c.state != State::kSilent) return;
  c.state = State::kReleased;
  if (!c.scheduled) free(call);
}

void CallSchedule::free(std::uint32_t call) {
  calls_[call].state = State::kFree;
  free_.push_back(call);
  --in_use_;
  if (owed_ == 0 || ended_) return;
  --owed_;
  join(kTick * static_cast<Duration::rep>(tick_));
}

void CallSchedule::end() {
  ended_ = true;
  first_joins_.clear();
  next_leave_ = Duration::max();
  while (!live_.empty()) leave(live_.back());
}

Duration CallSchedule::next() const {
  Duration next = next_leave_;
  if (!first_joins_.empty()) next = std::min(next, first_joins_.back());
  // Rounded up, as due() sees it.
  if (next != Duration::max()) next = kTick * static_cast<Duration::rep>(std::max(tick_of(next), tick_ + 1));
  if (scheduled_ == 0) return next;
  for (std::uint64_t tick = tick_ + 1; tick <= tick_ + wheel_.size(); ++tick) {
    const Duration at = kTick * static_cast<Duration::rep>(tick);
    if (at >= next) break;
    if (wheel_[tick & (wheel_.size() - 1)] != kNone) return at;
  }
  return next;
}

}  // namespace volvox
