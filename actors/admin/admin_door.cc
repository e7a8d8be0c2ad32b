#include "actors/admin/admin_door.h"

#include <utility>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "actors/admin/admin_path.h"
#include "config/validate.h"

namespace volvox {
namespace {

// Of "tcp://HOST:PORT"; another kind of endpoint has none, and the process's number stands for it.
std::uint16_t port_of(const std::string& endpoint) {
  const auto where = parse_host_port(endpoint.substr(endpoint.find("//") + 2));
  return where ? where->port : static_cast<std::uint16_t>(::getpid());
}

}  // namespace

Result<std::unique_ptr<AdminSocket>> open_admin_door(const std::string& setting, const std::string& endpoint,
                                                     AdminSocket::Handler handler) {
  if (setting.empty()) return std::unique_ptr<AdminSocket>();
  if (setting != "auto") return AdminSocket::open(setting, std::move(handler));
  const std::string path = default_admin_path(port_of(endpoint));
  Status problem = make_admin_folder(path);
  if (problem) {
    auto opened = AdminSocket::open(path, std::move(handler));
    if (opened) return opened;
    problem = tl::unexpected(std::move(opened).error());
  }
  spdlog::warn("no admin socket: {}", problem.error().message);
  return std::unique_ptr<AdminSocket>();
}

}  // namespace volvox
