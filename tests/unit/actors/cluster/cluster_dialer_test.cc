#include "actors/cluster/cluster_dialer.h"

#include <cerrno>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/system/actor_system.h"

namespace volvox {
namespace {

constexpr int kPatienceMs = 20'000;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int operator*() const { return fd_; }

 private:
  int fd_;
};

// Something that can be dialled.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(*fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(listen(*fd_, 8), 0);
    socklen_t size = sizeof at;
    EXPECT_EQ(getsockname(*fd_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int accept_one() const {
    pollfd waiting{*fd_, POLLIN, 0};
    return poll(&waiting, 1, kPatienceMs) == 1 ? accept(*fd_, nullptr, nullptr) : -1;
  }

 private:
  Descriptor fd_;
  int port_ = 0;
};

// Its number must not go to CAF's own connection while the router still tidies up after it.
TEST(ClusterDialer, HoldsItsProbeUntilTheLinkStands) {
  prometheus::Registry registry;
  ClusterMetrics metrics(registry);
  const auto transport = ClusterTransport::open({}, metrics);
  ASSERT_TRUE(transport);
  SystemConfig config(1, transport->get());
  ActorSystem system(config);
  const caf::scoped_actor owner(system);
  const Listener router;
  const caf::actor dialer = spawn_cluster_dialer(
      system, {router.address(), 0, caf::actor_cast<caf::actor>(owner.ptr()), *transport, &metrics});
  caf::anon_send(dialer, DialAtom::value);
  const Descriptor probe(router.accept_one());
  ASSERT_GE(*probe, 0);
  ASSERT_EQ(send(*probe, "B", 1, MSG_NOSIGNAL), 1);
  const Descriptor link(router.accept_one());
  ASSERT_GE(*link, 0);
  char byte = 0;
  EXPECT_EQ(recv(*probe, &byte, 1, MSG_DONTWAIT), -1) << "it was closed before the link stood";
  EXPECT_EQ(errno, EAGAIN);
  caf::anon_send_exit(dialer, caf::exit_reason::user_shutdown);
}

}  // namespace
}  // namespace volvox
