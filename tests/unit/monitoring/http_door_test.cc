// What a door does that cannot pass a request on.

#include "monitoring/http/http_door.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/sockets.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// From now on, this thread and those that it starts find no port to connect from. False: this kernel takes no
// such rule.
bool take_all_ports() {
  constexpr std::uint32_t kNone = SECCOMP_RET_ERRNO | EADDRNOTAVAIL;
  sock_filter rules[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                         {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_connect},
                         {BPF_RET | BPF_K, 0, 0, kNone},
                         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{4, rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
         prctl(PR_SET_SECCOMP, static_cast<unsigned long>(SECCOMP_MODE_FILTER), &program) == 0;
}

// A door that passes on all it is asked.
class HttpDoorTest : public testing::Test {
 protected:
  void open() {
    constexpr std::chrono::seconds kPatience{60};
    DoorSetup setup;
    setup.address.tcp = {"127.0.0.1", 0};
    setup.limits.patience = kPatience;
    setup.io_timeout = kPatience;
    setup.passed = 2;
    setup.questions = 1;
    setup.reply = [this](const HttpHead&, const std::string&) {
      if (starves_) {
        none_.emplace();
        starves_ = false;
      }
      DoorReply reply;
      reply.pass_to = 1;
      return reply;
    };
    setup.cut = [this] { ++cut_; };
    setup.connected = [this](std::size_t open) { open_ = open; };
    auto opened = HttpDoor::open(std::move(setup));
    ASSERT_TRUE(opened) << opened.error().message;
    door_ = std::move(*opened);
  }

  // A connection that the door holds, and that has asked nothing.
  int silent() {
    const std::size_t before = open_;
    const int fd = test::dial(door_->port());
    while (open_ == before) std::this_thread::yield();
    return fd;
  }
  static std::string ask(int fd) {
    const std::string question = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(send(fd, question.data(), question.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(question.size()));
    std::string answer;
    char buffer[512];
    for (ssize_t n = 0; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(n));
    return answer;
  }

  // Descriptors run out while the door reads a question: by its own thread, which would otherwise hold one
  // now and then that another thread takes for used (accept4() does, until it finds nobody).
  std::atomic<bool> starves_{false};
  std::optional<test::NoDescriptors> none_;
  std::atomic<int> cut_{0};
  std::atomic<std::size_t> open_{0};
  std::unique_ptr<HttpDoor> door_;  // last: it counts
};

TEST_F(HttpDoorTest, WithoutDescriptorsWhoHasNotAskedGivesWay) {
  open();
  ASSERT_NE(door_, nullptr);
  const int bystander = silent(), asker = silent();
  starves_ = true;
  const std::string answer = ask(asker);
  ASSERT_FALSE(starves_);
  none_.reset();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("no file descriptors left"));
  EXPECT_EQ(cut_, 1);
  close(asker);
  close(bystander);
}

TEST_F(HttpDoorTest, WithoutPortsNobodyGivesWay) {
  bool taken = false;
  std::thread([&] {
    taken = take_all_ports();
    if (taken) open();
  }).join();
  if (!taken) GTEST_SKIP() << "this kernel filters no system calls";
  ASSERT_NE(door_, nullptr);
  const int bystander = silent(), asker = silent();
  const std::string answer = ask(asker);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("Cannot assign requested address"));
  EXPECT_THAT(answer, Not(HasSubstr("descriptors")));
  EXPECT_EQ(cut_, 0);
  close(asker);
  close(bystander);
}

}  // namespace
}  // namespace volvox
