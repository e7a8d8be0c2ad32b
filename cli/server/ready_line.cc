#include "cli/server/ready_line.h"

#include <cstdio>

#include <poll.h>
#include <unistd.h>

#include "config/validate.h"

namespace volvox {

void say_ready(const std::string& line) {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) < 1 || (out.revents & POLLOUT) == 0) return;
  std::fputs((line + '\n').c_str(), stdout);
  std::fflush(stdout);
}

std::string http_address(const std::string& listen, std::uint16_t port) {
  if (listen.starts_with("unix:")) return listen;
  if (port == 0) return {};
  return "http://" + parse_host_port(listen)->host + ":" + std::to_string(port);
}

std::string or_none(const std::string& address) {
  return address.empty() ? "-" : address;
}

}  // namespace volvox
