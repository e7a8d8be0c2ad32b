#include "protocol/sockets/wakeup.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace volvox {

EventFd::EventFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

EventFd::~EventFd() {
  if (fd_ >= 0) ::close(fd_);
}

void EventFd::signal() {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the sleeper is awake already.
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof(one));
}

void EventFd::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(fd_, &count, sizeof(count));
}

unsigned wait_readable(std::initializer_list<int> descriptors, Duration timeout) {
  std::array<pollfd, 4> polled{};
  const std::size_t count = std::min(descriptors.size(), polled.size());
  for (std::size_t i = 0; i < count; ++i) polled[i] = {descriptors.begin()[i], POLLIN, 0};
  const auto left = std::max(timeout, Duration::zero()).count();
  const timespec span{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  if (::ppoll(polled.data(), count, timeout == Duration::max() ? nullptr : &span, nullptr) <= 0) return 0;
  unsigned readable = 0;
  for (std::size_t i = 0; i < count; ++i) readable |= polled[i].revents != 0 ? 1U << i : 0U;
  return readable;
}

}  // namespace volvox
