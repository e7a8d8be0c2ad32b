#include "actors/edge/listening_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace volvox {
namespace {

int listen_at(int family, std::uint16_t& port) {
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, any, size) != 0 || ::listen(fd, 1) != 0 || ::getsockname(fd, any, &size) != 0) {
    ::close(fd);
    return -1;
  }
  port = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                 : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  return fd;
}

TEST(ListeningPort, IsOpenAsLongAsItsSocket) {
  for (const int family : {AF_INET, AF_INET6}) {
    std::uint16_t port = 0, other = 0;
    const int fd = listen_at(family, port);
    if (fd < 0 && family == AF_INET6) continue;  // a machine without it
    ASSERT_GE(fd, 0);
    ListeningPort watched(port);
    EXPECT_TRUE(watched.is_open());
    EXPECT_TRUE(watched.is_open()) << "the descriptor is known now";
    ::close(fd);
    const int next = listen_at(family, other);
    EXPECT_FALSE(watched.is_open()) << "the descriptor is another port's now";
    ::close(next);
    EXPECT_FALSE(watched.is_open());
  }
}

TEST(ListeningPort, ASocketThatIsOnlyBoundDoesNotListen) {
  std::uint16_t port = 0;
  const int fd = listen_at(AF_INET, port);
  ASSERT_GE(fd, 0);
  ::close(fd);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int bound = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(bound, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    EXPECT_FALSE(ListeningPort(port).is_open());
  }
  ::close(bound);
}

}  // namespace
}  // namespace volvox
