#include "actors/admin/admin_socket.h"

#include <cstring>
#include <fstream>
#include <new>
#include <optional>

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/actors/house.h"
#include "tests/unit/sockets.h"

namespace volvox {
namespace {

using testing::HasSubstr;

// A peer that does what the test says.
class Peer {
 public:
  explicit Peer(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const timeval patience{60, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Peer() { ::close(fd_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool connected() const { return connected_; }
  bool send(const std::string& bytes) const {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  void end_of_input() const { ::shutdown(fd_, SHUT_WR); }
  // A line, or "END" when the server has ended the connection.
  std::string line() const {
    std::string line;
    char c = 0;
    while (true) {
      if (::recv(fd_, &c, 1, 0) != 1) return "END";
      if (c == '\n') return line;
      line.push_back(c);
    }
  }

 private:
  int fd_;
  bool connected_ = false;
};

class AdminSocketTest : public testing::Test {
 protected:
  std::string path() const { return (scratch_.path() / "admin").string(); }
  // A server that says every line again.
  std::unique_ptr<AdminSocket> echo(const AdminLimits& limits = {}) const {
    auto socket = AdminSocket::open(
        path(), [](const std::string& line, const AdminSocket::Reply& reply) { reply("<" + line + ">"); },
        limits);
    EXPECT_TRUE(socket) << socket.error().message;
    return socket ? std::move(*socket) : nullptr;
  }
  Scratch scratch_;
};

TEST_F(AdminSocketTest, AnswersEachLineInOrder) {
  const auto socket = echo();
  struct stat there {};
  ASSERT_EQ(::stat(path().c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777U, 0600U);
  const Peer peer(path());
  ASSERT_TRUE(peer.send("one\ntw"));
  EXPECT_EQ(peer.line(), "<one>");
  ASSERT_TRUE(peer.send("o\nthree\n"));
  peer.end_of_input();
  EXPECT_EQ(peer.line(), "<two>");
  EXPECT_EQ(peer.line(), "<three>");
  EXPECT_EQ(peer.line(), "END");
}

TEST_F(AdminSocketTest, RepliesMayComeLaterFromAnotherThread) {
  std::mutex mutex;
  std::vector<AdminSocket::Reply> owed;
  auto socket = AdminSocket::open(path(), [&](const std::string&, AdminSocket::Reply reply) {
    const std::lock_guard lock(mutex);
    owed.push_back(std::move(reply));
  });
  ASSERT_TRUE(socket) << socket.error().message;
  const auto wait_for = [&](std::size_t count) {
    while (true) {
      const std::lock_guard lock(mutex);
      if (owed.size() >= count) return;
    }
  };
  const Peer first(path());
  {
    const Peer gone(path());
    ASSERT_TRUE(gone.send("slow\n"));
    wait_for(1);
  }
  ASSERT_TRUE(first.send("a\nb\n"));
  wait_for(2);
  owed[0]("for nobody");
  owed[1]("late");
  EXPECT_EQ(first.line(), "late");
  wait_for(3);
  socket->reset();
  owed[2]("too late");
  EXPECT_EQ(first.line(), "END");
}

TEST_F(AdminSocketTest, CutsOffWhoSendsTooMuchOrSaysNothing) {
  AdminLimits limits;
  limits.line_bytes = 1000;
  limits.patience = std::chrono::milliseconds(50);
  const auto socket = echo(limits);
  const Peer silent(path()), babbling(path());
  for (int i = 0; i < 100 && babbling.send(std::string(1000, 'x')); ++i) {
  }
  EXPECT_EQ(babbling.line(), "END");
  EXPECT_EQ(silent.line(), "END");
  const Peer good(path());
  ASSERT_TRUE(good.send("still here\n"));
  EXPECT_EQ(good.line(), "<still here>");
}

TEST_F(AdminSocketTest, BoundsItsConnections) {
  AdminLimits limits;
  limits.connections = 2;
  const auto socket = echo(limits);
  const Peer a(path()), b(path());
  ASSERT_TRUE(a.send("a\n") && b.send("b\n"));
  EXPECT_EQ(a.line(), "<a>");
  EXPECT_EQ(b.line(), "<b>");
  const Peer c(path());
  EXPECT_EQ(c.line(), "END");
  ASSERT_TRUE(a.send("again\n"));
  EXPECT_EQ(a.line(), "<again>");
}

// What cannot be taken would wake the thread again and again.
TEST_F(AdminSocketTest, WithoutDescriptorsItTurnsAway) {
  const auto socket = echo();
  const Peer good(path());
  ASSERT_TRUE(good.send("here\n"));
  EXPECT_EQ(good.line(), "<here>");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::optional<test::NoDescriptors> none(std::in_place);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path().c_str(), path().size() + 1);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  pollfd polled{fd, POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 10'000), 1) << "it was left waiting";
  none.reset();
  ::close(fd);
  ASSERT_TRUE(good.send("still here\n"));
  EXPECT_EQ(good.line(), "<still here>");
}

// Nobody knows what the round that failed has left undone.
TEST_F(AdminSocketTest, CutsItsConnectionsAndGoesOnWhenMemoryRunsOut) {
  const auto socket = AdminSocket::open(path(), [](const std::string& line, const AdminSocket::Reply& reply) {
    if (line == "too much") throw std::bad_alloc();
    reply("<" + line + ">");
  });
  ASSERT_TRUE(socket) << socket.error().message;
  const Peer bystander(path()), greedy(path());
  ASSERT_TRUE(bystander.send("one\n"));
  EXPECT_EQ(bystander.line(), "<one>");
  ASSERT_TRUE(greedy.send("too much\n"));
  EXPECT_EQ(greedy.line(), "END");
  EXPECT_EQ(bystander.line(), "END");
  const Peer next(path());
  ASSERT_TRUE(next.send("two\n"));
  EXPECT_EQ(next.line(), "<two>");
}

TEST_F(AdminSocketTest, ReplacesADeadServersSocketAndNothingElse) {
  {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().c_str(), path().size() + 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(fd);  // leaves the file behind
  }
  const auto socket = echo();
  ASSERT_NE(socket, nullptr);
  const auto second = AdminSocket::open(path(), {});
  ASSERT_FALSE(second) << "somebody listens";
  EXPECT_THAT(second.error().message, HasSubstr(path()));
  const std::string file = (scratch_.path() / "file").string();
  std::ofstream(file) << "precious";
  EXPECT_FALSE(AdminSocket::open(file, {}));
  EXPECT_TRUE(std::filesystem::is_regular_file(file));
  EXPECT_FALSE(AdminSocket::open(std::string(300, 'x'), {}));
  EXPECT_FALSE(AdminSocket::open("", {}));
}

}  // namespace
}  // namespace volvox
