#include "cli/admin/admin.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "actors/admin/admin_path.h"

namespace volvox {
namespace {

using nlohmann::json;

class Connection {
 public:
  Connection() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool open(const std::string& path) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
      errno = ENAMETOOLONG;
      return false;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool write(const std::string& line) const {
    std::size_t sent = 0;
    while (sent < line.size()) {
      const ssize_t part = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
      if (part <= 0 && errno != EINTR) return false;
      if (part > 0) sent += static_cast<std::size_t>(part);
    }
    return true;
  }

  // Up to the newline, or what came before the end.
  std::string read_line() const {
    std::string line;
    std::array<char, 65'536> piece{};
    // One answer comes to one command: nothing follows its newline.
    while (line.empty() || line.back() != '\n') {
      const ssize_t got = ::recv(fd_, piece.data(), piece.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return line;
      line.append(piece.data(), static_cast<std::size_t>(got));
    }
    line.pop_back();
    return line;
  }

 private:
  int fd_;
};

}  // namespace

Result<json> ask_admin(const std::string& path_or_auto, const json& command) {
  constexpr std::uint16_t kDefaultPort = 7100;  // of server.listen
  const std::string path = path_or_auto == kAutoAdmin ? default_admin_path(kDefaultPort) : path_or_auto;
  const Connection connection;
  if (!connection.open(path)) {
    return fail(ErrorCode::kUnavailable, "no server answers at '" + path + "' (" + std::strerror(errno) +
                                             "); give the path of its admin socket with --admin");
  }
  const bool asked = connection.write(command.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  json answer = asked ? json::parse(connection.read_line(), nullptr, false) : json();
  if (!answer.is_object()) {
    return fail(ErrorCode::kUnavailable, "the server ended before it answered; see its log");
  }
  if (answer.value("ok", false)) return answer;
  const json error = answer.value("error", json::object());
  return fail(error_code_from(error.value("code", "INTERNAL")),
              error.value("message", "no reason was given"));
}

}  // namespace volvox
