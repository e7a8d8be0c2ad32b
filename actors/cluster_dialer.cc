#include "actors/cluster_dialer.h"

#include <chrono>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <caf/io/all.hpp>
#include <netdb.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/shell.h"
#include "config/validate.h"

namespace volvox {
namespace {

constexpr int kProbeMs = 500;
constexpr int kLeastWaitMs = 100, kJitterMs = 200;

struct DialerSetup {
  std::string address;
  std::uint32_t seat = 0;
  caf::actor owner;
};

// Whether somebody accepts connections there, in time.
bool answers(const addrinfo& where) {
  const int probe = socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  connect(probe, where.ai_addr, where.ai_addrlen);
  pollfd waiting{probe, POLLOUT, 0};
  int error = 1;
  socklen_t size = sizeof error;
  const bool ready =
      poll(&waiting, 1, kProbeMs) == 1 && getsockopt(probe, SOL_SOCKET, SO_ERROR, &error, &size) == 0;
  close(probe);
  return ready && error == 0;
}

// The numeric addresses of a host that answer at the port.
std::vector<std::string> living_addresses(const HostPort& router) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::vector<std::string> living;
  const bool bracketed = router.host.front() == '[';
  const std::string name = bracketed ? router.host.substr(1, router.host.size() - 2) : router.host;
  if (getaddrinfo(name.c_str(), std::to_string(router.port).c_str(), &hints, &found) != 0) return living;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char host[NI_MAXHOST];
    if (!answers(*one)) continue;
    if (getnameinfo(one->ai_addr, one->ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0)
      living.emplace_back(host);
  }
  return living;
}

class DialerShell {
 public:
  static constexpr const char* kName = "cluster dialer";

  DialerShell(caf::event_based_actor* self, DialerSetup setup)
      : self_(self), setup_(std::move(setup)), dice_(std::random_device{}()) {}

  caf::behavior behavior() {
    return {[this](DialAtom) { dial(); }};
  }

 private:
  void dial() {
    const auto router = parse_host_port(setup_.address);
    if (!router) return spdlog::error("cluster.routers: {}", to_string(router.error()));
    for (const std::string& host : living_addresses(*router)) {
      auto connected = self_->system().middleman().remote_actor(host, router->port);
      if (!connected) continue;
      self_->send(setup_.owner, Dialed{setup_.seat, *connected});
      return;
    }
    const auto wait = std::chrono::milliseconds(kLeastWaitMs + static_cast<int>(dice_() % kJitterMs));
    self_->delayed_send(self_, wait, DialAtom::value);
  }

  caf::event_based_actor* self_;
  const DialerSetup setup_;
  std::minstd_rand dice_;
};

}  // namespace

caf::actor spawn_cluster_dialer(caf::actor_system& system, std::string address, std::uint32_t seat,
                                caf::actor owner) {
  return system.spawn<caf::detached>(run_shell<DialerShell, DialerSetup>,
                                     DialerSetup{std::move(address), seat, std::move(owner)});
}

}  // namespace volvox
