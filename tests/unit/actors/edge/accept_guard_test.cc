#include "actors/edge/accept_guard.h"

#include <cerrno>
#include <chrono>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "tests/unit/sockets.h"

namespace volvox {
namespace {

using test::NoDescriptors;

class AcceptGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    ASSERT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address_), size), 0);
    ASSERT_EQ(::listen(listener_, 64), 0);
    ASSERT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  void TearDown() override {
    for (const int fd : opened_) ::close(fd);
    ::close(listener_);
  }

  std::uint16_t port() const { return ntohs(address_.sin_port); }
  int dial() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
    opened_.push_back(fd);
    return fd;
  }
  int accept() {
    const int fd = guard_.accept(listener_, nullptr, nullptr);
    if (fd >= 0) opened_.push_back(fd);
    return fd;
  }
  // Whether the other end has closed it.
  static bool is_closed(int fd) {
    char byte = 0;
    pollfd polled{fd, POLLIN, 0};
    return ::poll(&polled, 1, 5000) == 1 && ::recv(fd, &byte, 1, 0) <= 0;
  }
  bool somebody_waits() const {
    pollfd polled{listener_, POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  }

  AcceptGuard guard_;
  sockaddr_in address_{};
  int listener_ = -1;
  std::vector<int> opened_;
};

TEST_F(AcceptGuardTest, APortWithoutABoundTakesAll) {
  for (int i = 0; i < 20; ++i) {
    dial();
    EXPECT_GE(accept(), 0);
  }
  EXPECT_LT(accept(), 0);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(AcceptGuardTest, BeyondTheBoundConnectionsAreClosedUntilOneHasGone) {
  int refused = 0;
  guard_.bound(port(), 2, [&] { ++refused; });
  dial();
  dial();
  const int first = accept();
  EXPECT_GE(first, 0);
  EXPECT_GE(accept(), 0);
  const int third = dial();
  EXPECT_LT(accept(), 0);
  EXPECT_EQ(errno, ECONNABORTED);
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(is_closed(third));
  EXPECT_FALSE(somebody_waits());
  ::close(first);
  std::erase(opened_, first);
  dial();
  EXPECT_GE(accept(), 0) << "a place is free";
}

TEST_F(AcceptGuardTest, WithoutDescriptorsNobodyIsLeftWaiting) {
  int refused = 0;
  guard_.bound(port(), 100, [&] { ++refused; });
  const int client = dial();
  std::optional<NoDescriptors> none(std::in_place);
  const int got = guard_.accept(listener_, nullptr, nullptr);
  const int error = errno;
  const bool waits = somebody_waits();
  none.reset();
  EXPECT_LT(got, 0);
  EXPECT_EQ(error, ECONNABORTED);
  EXPECT_FALSE(waits) << "whoever polls would be woken for ever";
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(is_closed(client));
  dial();
  EXPECT_GE(accept(), 0);
}

// Whoever has been let in elsewhere finds the descriptors that are kept; then nobody asks without a pause.
TEST_F(AcceptGuardTest, APortWithoutABoundHasAFewDescriptorsOfItsOwn) {
  constexpr int kKept = 8;
  for (int i = 0; i <= kKept; ++i) dial();
  std::optional<NoDescriptors> none(std::in_place);
  int taken = 0;
  while (taken < kKept && accept() >= 0) ++taken;
  const auto since = std::chrono::steady_clock::now();
  const int got = accept();
  const int error = errno;
  const auto waited = std::chrono::steady_clock::now() - since;
  none.reset();
  EXPECT_EQ(taken, kKept);
  EXPECT_LT(got, 0);
  EXPECT_EQ(error, EMFILE);
  EXPECT_GE(waited, std::chrono::milliseconds(10));
  EXPECT_GE(accept(), 0) << "it was kept waiting";
}

}  // namespace
}  // namespace volvox
