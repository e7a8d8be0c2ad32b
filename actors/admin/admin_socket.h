#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/edge/accept_guard.h"
#include "base/error.h"
#include "base/time.h"
#include "protocol/sockets/wakeup.h"

namespace volvox {

// Bounds on what a peer may make the server hold; constants, since the peer is the operator.
struct AdminLimits {
  std::size_t connections = 16;
  std::size_t line_bytes = 64U << 10;            // of one command
  std::size_t output_bytes = 1U << 20;           // written and not read by the peer
  Duration patience = std::chrono::seconds(60);  // a connection on which nothing moves, and no command runs
};

// Who operates a server must be able to talk to it whatever its clients do. A Unix socket of its own, which
// only its owner can open (mode 0600), and a small thread of its own: it reads commands, a line each, and
// writes the answers, a line each, in the order of the commands; the next command of a connection is looked
// at when the last one is answered. It never waits for a peer: one that is silent, does not read, or sends
// too much is cut off. When memory runs out all are, and may connect again.
class AdminSocket {
 public:
  using Reply = std::function<void(std::string)>;                  // once, from any thread; no newline
  using Handler = std::function<void(const std::string&, Reply)>;  // on the socket's thread; must not block

  // Binds and serves. A socket that a dead server left behind is replaced; anything else at `path` is an
  // error.
  static Result<std::unique_ptr<AdminSocket>> open(const std::string& path, Handler handler,
                                                   const AdminLimits& limits = {});
  // Cuts all connections and removes the socket. Later replies go nowhere.
  ~AdminSocket();
  AdminSocket(const AdminSocket&) = delete;
  AdminSocket& operator=(const AdminSocket&) = delete;

  const std::string& path() const { return path_; }

 private:
  struct Connection {
    int fd = -1;
    std::string in, out;
    bool busy = false;    // a command runs
    bool ending = false;  // goes as soon as `out` is written
    TimePoint moved{};
  };
  // Replies on their way to the thread; outlives the socket in whoever still owes one.
  struct Mailbox {
    std::mutex mutex;
    std::vector<std::pair<std::uint64_t, std::string>> replies;  // by connection
    EventFd wakeup;
  };
  class Answer;
  using Connections = std::map<std::uint64_t, Connection>;

  AdminSocket(std::string path, int listener, Handler handler, const AdminLimits& limits);

  void run();
  void run_once();
  void start_anew(const char* why);
  void accept_one();
  void take_replies();
  void serve(std::uint64_t number, Connection& connection, short events);
  void read(Connection& connection) const;
  void handle_next(std::uint64_t number, Connection& connection);
  void write(Connection& connection) const;
  bool is_over(const Connection& connection) const;
  void drop_dead();

  const std::string path_;
  const int listener_;
  const Handler handler_;
  const AdminLimits limits_;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  AcceptGuard guard_;
  std::atomic<bool> stopping_{false};
  std::uint64_t last_number_ = 0;
  Connections connections_;  // the thread's own, as the number is
  std::thread thread_;
};

}  // namespace volvox
