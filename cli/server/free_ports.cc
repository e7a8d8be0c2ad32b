#include "cli/server/free_ports.h"

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>

#include "config/addresses.h"
#include "config/validate.h"
#include "monitoring/http/descriptor.h"

namespace volvox {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

// Only where the kernel says so: whatever else is wrong with an address its door says better, and a name is
// looked up there.
bool is_taken(const HostPort& where) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = where.host == "*" ? "0.0.0.0" : without_brackets(where.host);
  if (getaddrinfo(host.c_str(), std::to_string(where.port).c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  const Descriptor probe(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;  // as the doors do: connections that have ended do not count
  return probe && ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
         ::bind(probe.get(), found->ai_addr, found->ai_addrlen) != 0 && errno == EADDRINUSE;
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
