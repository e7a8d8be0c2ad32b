#include "loadgen/calls/call_window.h"

#include <algorithm>

namespace volvox {

bool CallWindow::add(Duration due, std::uint32_t most) {
  if (end_ - first_ >= std::min(most, kMost)) return false;
  entry(end_++) = {.due = due};
  return true;
}

std::optional<std::uint64_t> CallWindow::next() const {
  const std::uint64_t end = reach(begun_ && !alone_ ? kAhead : 1);
  for (std::uint64_t number = first_; number < end; ++number) {
    if (entry(number).state == State::kWaiting) return number;
  }
  return std::nullopt;
}

void CallWindow::sent(std::uint64_t number, std::uint64_t ticket) {
  Entry& e = entry(number);
  e.ticket = ticket;
  ++e.sendings;
  e.state = State::kSent;
}

std::optional<std::uint64_t> CallWindow::find(std::uint64_t ticket) const {
  for (std::uint64_t number = first_; number < reach(kAhead); ++number) {
    if (entry(number).state == State::kSent && entry(number).ticket == ticket) return number;
  }
  return std::nullopt;
}

CallWindow::Answered CallWindow::answered(std::uint64_t number) {
  Entry& e = entry(number);
  const Answered done{number, e.due, e.sendings};
  e.state = State::kDone;
  begun_ = true;
  alone_ = false;
  while (first_ < end_ && entry(first_).state == State::kDone) ++first_;
  return done;
}

void CallWindow::cut(Duration now) {
  std::uint64_t cut = first_;
  while (cut < reach(kAhead) && entry(cut).state != State::kWaiting) ++cut;
  end_ = cut;
  alone_ = false;
  entry(end_++) = {.due = now};
}

std::uint32_t CallWindow::under_way() const {
  std::uint32_t count = 0;
  for (std::uint64_t number = first_; number < reach(kAhead); ++number)
    count += entry(number).state == State::kSent ? 1 : 0;
  return count;
}

}  // namespace volvox
