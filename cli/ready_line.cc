#include "cli/ready_line.h"

#include <cstdio>

#include <poll.h>
#include <unistd.h>

namespace volvox {

void say_ready(const std::string& line) {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) < 1 || (out.revents & POLLOUT) == 0) return;
  std::fputs((line + '\n').c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace volvox
