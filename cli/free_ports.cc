#include "cli/free_ports.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/validate.h"

namespace volvox {
namespace {

// Only where the kernel says so: whatever else is wrong with an address its door says better.
bool is_taken(const sockaddr* address, socklen_t size) {
  const int probe = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const int yes = 1;  // as the doors do: connections that have ended do not count
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool taken = ::bind(probe, address, size) != 0 && errno == EADDRINUSE;
  ::close(probe);
  return taken;
}

bool is_taken(const HostPort& where) {
  if (where.port == 0) return false;
  const std::string host = where.host == "*" ? "0.0.0.0" : where.host;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(where.port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1)
    return is_taken(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(where.port);
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1)
    return is_taken(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  return false;  // a name: its door looks it up
}

}  // namespace

Status check_ports_are_free(const ServeConfig& config) {
  constexpr std::string_view kTcp = "tcp://";
  std::string_view listen = config.server.listen;
  if (listen.starts_with(kTcp)) listen.remove_prefix(kTcp.size());
  for (const auto& [name, address] : {std::pair<const char*, std::string_view>{"server.listen", listen},
                                      {"server.metrics", config.server.metrics},
                                      {"server.probes", config.server.probes},
                                      {"http.listen", config.http.listen}}) {
    const auto where = parse_host_port(address);
    if (!where || !is_taken(*where)) continue;
    return fail(ErrorCode::kUnavailable, std::string(name) + ": " + std::string(address) +
                                             " is taken, by another server perhaps; stop it, or set another "
                                             "port");
  }
  return {};
}

}  // namespace volvox
