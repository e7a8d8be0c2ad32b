#include "config/addresses.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <utility>

#include <arpa/inet.h>

namespace volvox {
namespace {

bool is_localhost(std::string_view host) {
  constexpr std::string_view kName = "localhost";
  return std::equal(host.begin(), host.end(), kName.begin(), kName.end(),
                    [](unsigned char a, char b) { return std::tolower(a) == b; });
}

std::optional<in_addr> parse_ipv4(std::string_view host) {
  in_addr address{};
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::optional<in6_addr> parse_ipv6(std::string_view host) {
  in6_addr address{};
  if (host.size() < 3 || host.front() != '[' || host.back() != ']') return std::nullopt;
  const std::string bare(host.substr(1, host.size() - 2));
  if (inet_pton(AF_INET6, bare.c_str(), &address) != 1) return std::nullopt;
  return address;
}

}  // namespace

std::vector<std::string> split_addresses(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t first = text.find_first_not_of(' ', begin);
    if (first < end) parts.push_back(text.substr(first, text.find_last_not_of(' ', end - 1) + 1 - first));
    begin = end + 1;
  }
  return parts;
}

std::string without_brackets(const std::string& host) {
  return host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

bool is_numeric_host(std::string_view host) {
  return parse_ipv4(host) || parse_ipv6(host);
}

bool is_loopback(std::string_view host) {
  if (const auto address = parse_ipv4(host)) return ntohl(address->s_addr) >> 24 == 127;
  if (const auto address = parse_ipv6(host))
    return std::memcmp(&*address, &in6addr_loopback, sizeof *address) == 0;
  return is_localhost(host);
}

}  // namespace volvox
