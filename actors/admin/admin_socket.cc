#include "actors/admin/admin_socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "actors/admin/admin_line.h"
#include "actors/system/insist.h"
#include "base/clock.h"

namespace volvox {
namespace {

constexpr int kLookAroundMs =
    500;  // an idle thread wakes this often, for those that have been silent too long
constexpr int kBacklog = 16;
constexpr Duration kAfterFailure =
    std::chrono::milliseconds(20);  // others may have given memory back by then

tl::unexpected<Error> cannot(const std::string& path, const std::string& why) {
  return fail(ErrorCode::kUnavailable, "the admin socket '" + path + "' cannot be opened: " + why);
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return cannot(
        path, "its path must have between 1 and " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

bool somebody_listens(const sockaddr_un& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return true;
  const bool answered = ::connect(fd, plain(address), sizeof address) == 0 || errno != ECONNREFUSED;
  ::close(fd);
  return answered;
}

// Nobody can connect before listen(), so the mode is right from the first moment.
Status bind_private(int fd, const std::string& path, const sockaddr_un& address) {
  if (::bind(fd, plain(address), sizeof address) != 0) {
    struct stat there {};
    const bool stale = errno == EADDRINUSE && ::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode) &&
                       !somebody_listens(address);
    if (!stale || ::unlink(path.c_str()) != 0 || ::bind(fd, plain(address), sizeof address) != 0)
      return cannot(path, std::strerror(errno));
  }
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(fd, kBacklog) != 0)
    return cannot(path, std::strerror(errno));
  return {};
}

}  // namespace

Result<std::unique_ptr<AdminSocket>> AdminSocket::open(const std::string& path, Handler handler,
                                                       const AdminLimits& limits) {
  const auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot(path, std::strerror(errno));
  if (const Status bound = bind_private(fd, path, *address); !bound) {
    ::close(fd);
    return tl::unexpected(bound.error());
  }
  return std::unique_ptr<AdminSocket>(new AdminSocket(path, fd, std::move(handler), limits));
}

// To one line. Whoever owed it may be gone, with the message that asked: then this says so in its place.
class AdminSocket::Answer {
 public:
  Answer(std::shared_ptr<Mailbox> mailbox, std::uint64_t connection)
      : mailbox_(std::move(mailbox)), connection_(connection) {}
  ~Answer() {
    if (said_) return;
    insist([&] {
      say(admin_failure({ErrorCode::kUnavailable,
                         "what was to answer has failed and is being started again; try again soon"}));
    });
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  void say(std::string reply) {
    {
      const std::lock_guard lock(mailbox_->mutex);
      mailbox_->replies.emplace_back(connection_, std::move(reply));
    }
    said_ = true;
    mailbox_->wakeup.signal();
  }

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::uint64_t connection_;
  bool said_ = false;  // by the last thread that had it
};

AdminSocket::AdminSocket(std::string path, int listener, Handler handler, const AdminLimits& limits)
    : path_(std::move(path)),
      listener_(listener),
      handler_(std::move(handler)),
      limits_(limits),
      thread_([this] { run(); }) {}

AdminSocket::~AdminSocket() {
  stopping_ = true;
  mailbox_->wakeup.signal();
  thread_.join();
  for (auto& [number, connection] : connections_) ::close(connection.fd);
  ::close(listener_);
  ::unlink(path_.c_str());
}

void AdminSocket::run() {
  while (!stopping_) {
    try {
      run_once();
    } catch (const std::exception& error) {
      start_anew(error.what());
    }
  }
}

void AdminSocket::run_once() {
  std::vector<pollfd> polled{{mailbox_->wakeup.fd(), POLLIN, 0}, {listener_, POLLIN, 0}};
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, connection] : connections_) {
    const bool reads = !connection.busy && !connection.ending;
    const int events = (reads ? POLLIN : 0) | (connection.out.empty() ? 0 : POLLOUT);
    // A peer that is gone would be reported again and again while nothing can be done about it.
    polled.push_back({events == 0 ? -1 : connection.fd, static_cast<short>(events), 0});
    numbers.push_back(number);
  }
  if (::poll(polled.data(), polled.size(), kLookAroundMs) > 0) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      serve(numbers[i], connections_.at(numbers[i]), polled[i + 2].revents);
    }
    if (polled[1].revents != 0) accept_one();
  }
  take_replies();
  drop_dead();
}

// Nobody knows how far the round has come: half of a line may be lost, or an answer. So all connections end,
// and whatever is still said to one of them goes nowhere.
void AdminSocket::start_anew(const char* why) {
  for (auto& [number, connection] : connections_) ::close(connection.fd);
  connections_.clear();
  try {
    spdlog::error("the admin socket has cut its connections: {}", why);
  } catch (const std::exception&) {  // to say it takes memory, too
  }
  std::this_thread::sleep_for(kAfterFailure);
}

// Its place comes first, so that no descriptor is lost where there is no memory for one.
void AdminSocket::accept_one() {
  const auto place = connections_.try_emplace(last_number_ + 1).first;
  const int fd = guard_.accept(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  const bool full = connections_.size() > limits_.connections;  // then it sees the end of the file
  if (fd < 0 || full) {
    if (fd >= 0) ::close(fd);
    connections_.erase(place);
    return;
  }
  ++last_number_;
  place->second.fd = fd;
  place->second.moved = steady_now();
}

void AdminSocket::take_replies() {
  mailbox_->wakeup.clear();
  std::vector<std::pair<std::uint64_t, std::string>> replies;
  {
    const std::lock_guard lock(mailbox_->mutex);
    replies.swap(mailbox_->replies);
  }
  for (auto& [number, reply] : replies) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) continue;
    Connection& connection = found->second;
    connection.busy = false;
    connection.moved = steady_now();
    connection.out.append(reply).push_back('\n');
    write(connection);
    handle_next(number, connection);
  }
}

void AdminSocket::serve(std::uint64_t number, Connection& connection, short events) {
  if (events == 0) return;
  if ((events & POLLOUT) != 0) write(connection);
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) read(connection);
  handle_next(number, connection);
}

// Ends the connection when the peer has ended it, or sends a line that is too long.
void AdminSocket::read(Connection& connection) const {
  char buffer[4096];
  while (connection.in.size() <= limits_.line_bytes) {
    const ssize_t got = ::recv(connection.fd, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (got <= 0) {
      connection.ending = true;
      return;
    }
    connection.moved = steady_now();
    connection.in.append(buffer, static_cast<std::size_t>(got));
  }
}

void AdminSocket::handle_next(std::uint64_t number, Connection& connection) {
  if (connection.busy) return;
  const std::size_t end = connection.in.find('\n');
  if (end == std::string::npos) {
    if (connection.in.size() > limits_.line_bytes) connection.ending = true;
    return;
  }
  const std::string line = connection.in.substr(0, end);
  connection.in.erase(0, end + 1);
  connection.busy = true;
  handler_(line, [answer = std::make_shared<Answer>(mailbox_, number)](std::string reply) {
    answer->say(std::move(reply));
  });
}

void AdminSocket::write(Connection& connection) const {
  while (!connection.out.empty()) {
    const ssize_t sent = ::send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (sent <= 0) {
      connection.out.clear();
      connection.ending = true;
      return;
    }
    connection.moved = steady_now();
    connection.out.erase(0, static_cast<std::size_t>(sent));
  }
}

bool AdminSocket::is_over(const Connection& connection) const {
  if (connection.busy) return false;  // its answer comes, and finds the end of the connection then
  if (connection.out.size() > limits_.output_bytes) return true;
  if (steady_now() - connection.moved > limits_.patience) return true;
  return connection.ending && connection.out.empty();
}

void AdminSocket::drop_dead() {
  std::erase_if(connections_, [this](const auto& entry) {
    if (!is_over(entry.second)) return false;
    ::close(entry.second.fd);
    return true;
  });
}

}  // namespace volvox
