#include "actors/cluster/router_addresses.h"

#include <memory>
#include <set>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>

#include "config/addresses.h"
#include "config/validate.h"

namespace volvox {
namespace {

std::string numeric(const addrinfo& one, std::uint16_t port) {
  char host[NI_MAXHOST];
  if (getnameinfo(one.ai_addr, one.ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  const bool brackets = one.ai_family == AF_INET6;
  std::string text(brackets ? "[" : "");
  text.append(host).append(brackets ? "]:" : ":").append(std::to_string(port));
  return text;
}

}  // namespace

Result<std::vector<std::string>> look_up_routers(const std::string& address) {
  const auto router = parse_host_port(address);
  if (!router) return tl::unexpected(router.error());
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(without_brackets(router->host).c_str(), nullptr, &hints, &found);
  if (error != 0) return fail(ErrorCode::kUnavailable, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (std::string text = numeric(*one, router->port); !text.empty()) addresses.insert(std::move(text));
  }
  return std::vector<std::string>(addresses.begin(), addresses.end());
}

}  // namespace volvox
