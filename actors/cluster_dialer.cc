#include "actors/cluster_dialer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <caf/io/all.hpp>
#include <netdb.h>
#include <spdlog/spdlog.h>

#include "actors/cluster_probe.h"
#include "actors/shell.h"
#include "config/validate.h"

namespace volvox {
namespace {

constexpr int kLeastWaitMs = 100, kJitterMs = 200;
constexpr std::chrono::seconds kConnect{3};  // for CAF, after the probe

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
    const auto host = find(*router);
    if (!host) return try_later(host.error().message);
    self_
        ->request(setup_.transport->dialer(self_->system()), kConnect, caf::connect_atom::value, *host,
                  router->port)
        .then(
            [this](const caf::node_id&, const caf::strong_actor_ptr& actor, const std::set<std::string>&) {
              probe_.reset();
              if (!actor) return try_later("what answers there is no router");
              trouble_.clear();
              self_->send(setup_.owner, Dialed{setup_.seat, caf::actor_cast<caf::actor>(actor)});
            },
            [this](const caf::error& error) {
              probe_.reset();
              try_later(self_->system().render(error));
            });
  }

  // The numeric address of the first of the host's that takes us, with `probe_` connected to it.
  Result<std::string> find(const HostPort& router) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const bool bracketed = router.host.front() == '[';
    const std::string name = bracketed ? router.host.substr(1, router.host.size() - 2) : router.host;
    const int error = getaddrinfo(name.c_str(), std::to_string(router.port).c_str(), &hints, &found);
    if (error != 0) return fail(ErrorCode::kUnavailable, gai_strerror(error));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
    Error last;
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      char host[NI_MAXHOST];
      if (getnameinfo(one->ai_addr, one->ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
        continue;
      auto taken = probe_router(*one, setup_.transport->tls());
      if (taken) {
        probe_.emplace(std::move(*taken));
        return std::string(host);
      }
      last = std::move(taken).error();
    }
    return tl::unexpected(std::move(last));
  }

  void try_later(const std::string& why) {
    setup_.metrics->dial_failed();
    if (why != trouble_) spdlog::warn("router {} cannot be reached, trying on: {}", setup_.address, why);
    trouble_ = why;
    const auto wait = std::chrono::milliseconds(kLeastWaitMs + static_cast<int>(dice_() % kJitterMs));
    self_->delayed_send(self_, wait, DialAtom::value);
  }

  caf::event_based_actor* self_;
  const DialerSetup setup_;
  std::string trouble_;                   // that was told of last
  std::optional<ProbeConnection> probe_;  // while CAF dials
  std::minstd_rand dice_;
};

}  // namespace

caf::actor spawn_cluster_dialer(caf::actor_system& system, DialerSetup setup) {
  return system.spawn<caf::detached>(run_shell<DialerShell, DialerSetup>, std::move(setup));
}

}  // namespace volvox
