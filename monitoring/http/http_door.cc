#include "monitoring/http/http_door.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "monitoring/http/door_connection.h"
#include "monitoring/http/listener.h"
#include "monitoring/page_maker.h"
#include "serving/door_line.h"

namespace volvox {
namespace {

using Id = ConnectionBounds::Id;

constexpr std::size_t kMostHead = 16'384;  // bytes
constexpr int kRoundMs = 50;               // how exactly times are kept
constexpr int kAtOnce = 64;  // connections that are let in before the others are looked at again

constexpr Duration kAfterFailure = std::chrono::milliseconds(100);

// How long a client that was answered may go on sending.
constexpr Duration kFarewell = std::chrono::seconds(2);

bool wants_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

HttpAnswer not_passed_on(int error) {
  if (wants_descriptors(error)) return {503, "this process has no file descriptors left\n"};
  return {503,
          std::string("the request found no way to this server's threads: ") + std::strerror(error) + "\n"};
}

}  // namespace

class HttpDoor::Impl {
 public:
  Impl(DoorSetup setup, Listener listener, Descriptor wakeup)
      : setup_(std::move(setup)),
        listener_(std::move(listener)),
        port_(listener_->port()),
        bounds_(setup_.limits),
        line_(setup_.passed, setup_.questions),
        wakeup_(std::move(wakeup)),
        pages_([this](const std::vector<Id>& who, const HttpAnswer& page) { made(who, page); }),
        thread_([this] { run(); }) {}

  ~Impl() {
    stopping_ = true;
    wake();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::uint16_t port() const { return port_; }

  std::string client_at(std::uint16_t port) const {
    const std::lock_guard lock(mutex_);
    const auto found = passed_.find(port);
    return found == passed_.end() ? std::string() : found->second;
  }

  bool finish(Duration timeout) {
    finishing_ = true;
    wake();
    std::unique_lock lock(mutex_);
    return over_.wait_for(lock, timeout, [this] { return passed_.empty(); });
  }

 private:
  using Connection = DoorConnection;
  using State = Connection::State;
  // An end of a connection: the client's, or the one by which it is passed on.
  struct Whose {
    Id id = 0;
    bool server = false;
  };

  void wake() const { static_cast<void>(::eventfd_write(wakeup_.get(), 1)); }

  // By the threads that make pages.
  void made(const std::vector<Id>& who, const HttpAnswer& page) {
    {
      const std::lock_guard lock(mutex_);
      for (const Id id : who) made_.emplace_back(id, page);
    }
    wake();
  }

  void run() {
    while (!stopping_) {
      try {
        run_once();
      } catch (const std::exception&) {
        start_anew();
      }
    }
  }

  void run_once() {
    if (finishing_) listener_.reset();
    wait();
    take_pages();
    if (polled_[1].revents != 0) let_in();
    serve_all();
    const TimePoint moment = steady_now();
    if (moment - looked_ >= std::chrono::milliseconds(kRoundMs)) look_after(moment);
    pass_on();
  }

  // Nobody knows how far the round has come: all connections end, and with them what they held.
  void start_anew() {
    while (!connections_.empty()) remove(connections_.begin()->first);
    bounds_.left(last_);  // may have been let in by half
    std::this_thread::sleep_for(kAfterFailure);
  }

  void wait() {
    const bool takes = listener_ && !listener_->starved();
    polled_.assign({{wakeup_.get(), POLLIN, 0}, {takes ? listener_->fd() : -1, POLLIN, 0}});
    whose_.assign(2, {});
    for (const auto& [id, connection] : connections_) {
      watch({id, false}, connection.socket.get(), events_of(connection));
      if (connection.relay) watch({id, true}, connection.relay->fd(), connection.relay->server_events());
    }
    const bool idle = connections_.empty() && takes;
    // More than the process may have open are not polled: the limit was lowered.
    if (::poll(polled_.data(), polled_.size(), idle ? -1 : kRoundMs) < 0 && errno == EINVAL && !make_room(0))
      std::this_thread::sleep_for(std::chrono::milliseconds(kRoundMs));
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(wakeup_.get(), &count));
  }

  // One of which nothing is wanted would be reported for ever when it breaks.
  void watch(Whose whose, int fd, short events) {
    if (events == 0) return;
    polled_.push_back({fd, events, 0});
    whose_.push_back(whose);
  }

  void serve_all() {
    for (std::size_t i = 2; i < polled_.size(); ++i) {
      const short seen = polled_[i].revents;
      if (seen == 0) continue;
      const bool server = whose_[i].server;
      serve(whose_[i].id, server ? short{0} : seen, server ? seen : short{0});
    }
  }

  static short events_of(const Connection& connection) {
    switch (connection.state) {
      case State::kAsking:
      case State::kLeaving:
        return POLLIN;
      case State::kInLine:
        return POLLRDHUP;
      case State::kAnswering:
        return POLLOUT;
      case State::kPassed:
        return connection.relay->client_events();
      case State::kPage:
        break;
    }
    return 0;
  }

  void let_in() {
    for (int i = 0; i < kAtOnce && listener_; ++i) {
      auto accepted = listener_->accept();
      if (!accepted) return;
      const auto entry = bounds_.enter(++last_, accepted->client, steady_now());
      if (entry.gives_way) send_away(*entry.gives_way);
      if (entry.verdict != ConnectionBounds::Verdict::kEnters) {
        if (setup_.refused) setup_.refused();
        continue;
      }
      Connection& connection = connections_[last_];
      connection.socket = std::move(accepted->socket);
      connection.client = std::move(accepted->client);
      show_connections();
      if (listener_->is_short()) make_room(last_);
      ask(last_, connection);  // most questions are there already
    }
  }

  // Closed with bytes unread it is reset, and the client may never see why. What comes later cannot be waited
  // for: its place is needed.
  static void skip_what_came(int socket) {
    std::array<char, 16384> piece{};
    for (int pieces = 0; pieces < 8; ++pieces)
      if (::recv(socket, piece.data(), piece.size(), MSG_DONTWAIT) <= 0) return;
  }

  // The bounds have forgotten it already, or are about to.
  void send_away(Id id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    if (found->second.state == State::kInLine) {
      const std::string busy = http_text(
          {503, "too many requests wait, or this one has waited for too long; try again later\n"}, true);
      static_cast<void>(::send(found->second.socket.get(), busy.data(), busy.size(), MSG_NOSIGNAL));
      skip_what_came(found->second.socket.get());
    }
    if (setup_.cut && found->second.state != State::kLeaving) setup_.cut();
    remove(id);
  }

  bool make_room(Id but) {
    const auto id = bounds_.make_room(but);
    if (id) send_away(*id);
    return id.has_value();
  }

  void remove(Id id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    end_relay(found->second);
    line_.left(id);
    bounds_.left(id);
    connections_.erase(found);
    show_connections();
  }

  void show_connections() const {
    if (setup_.connected) setup_.connected(connections_.size());
  }

  void end_relay(Connection& connection) {
    if (!connection.relay) return;
    const std::uint16_t port = connection.relay->own_port();
    connection.relay.reset();
    const std::lock_guard lock(mutex_);
    passed_.erase(port);
    if (passed_.empty()) over_.notify_all();
  }

  void serve(Id id, short client, short server) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    switch (connection.state) {
      case State::kAsking:
        return ask(id, connection);
      case State::kInLine:
        return remove(id);  // the client has hung up
      case State::kAnswering:
        return write(id, connection);
      case State::kLeaving:
        return leave(id, connection);
      case State::kPassed:
        if (!connection.relay->move(connection.socket.get(), client, server, steady_now()))
          answered(id, connection);
        return;
      case State::kPage:
        break;
    }
  }

  void ask(Id id, Connection& connection) {
    std::array<char, 4096> piece{};
    while (connection.in.size() <= kMostHead) {
      const ssize_t got = ::recv(connection.socket.get(), piece.data(), piece.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
      if (got <= 0) return remove(id);
      connection.in.append(piece.data(), static_cast<std::size_t>(got));
      if (const auto bytes = http_head_bytes(connection.in); bytes && *bytes <= kMostHead)
        return decide(id, connection, *bytes);
    }
    answer(id, connection, {431, "the header has more than 16384 bytes\n"});
  }

  void decide(Id id, Connection& connection, std::size_t bytes) {
    const auto head = parse_http_head(std::string_view(connection.in).substr(0, bytes));
    if (!head) return answer(id, connection, {400, head.error().message + "\n"});
    connection.with_body = head->method != "HEAD";
    DoorReply reply = setup_.reply(*head, connection.client);
    if (reply.pass_to != 0) {
      connection.pass_to = reply.pass_to;
      connection.state = State::kInLine;
      return line_.wait(id, connection.client, head->method != "POST");
    }
    if (!reply.page) return answer(id, connection, reply.answer);
    connection.state = State::kPage;
    pages_.ask(id, reply.page_name, reply.page);
  }

  void take_pages() {
    std::vector<std::pair<Id, HttpAnswer>> made;
    {
      const std::lock_guard lock(mutex_);
      made.swap(made_);
    }
    for (const auto& [id, page] : made) {
      if (const auto found = connections_.find(id); found != connections_.end())
        answer(id, found->second, page);
    }
  }

  void answer(Id id, Connection& connection, const HttpAnswer& answer) {
    connection.out = http_text(answer, connection.with_body);
    connection.state = State::kAnswering;
    write(id, connection);
  }

  void write(Id id, Connection& connection) {
    while (connection.written < connection.out.size()) {
      const ssize_t sent = ::send(connection.socket.get(), connection.out.data() + connection.written,
                                  connection.out.size() - connection.written, MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
      if (sent <= 0) return remove(id);
      connection.written += static_cast<std::size_t>(sent);
    }
    static_cast<void>(::shutdown(connection.socket.get(), SHUT_WR));
    part(id, connection);
  }

  // Closed with bytes unread it would be reset, and the client might never see its answer.
  void part(Id id, Connection& connection) {
    connection.state = State::kLeaving;
    connection.leaves = steady_now();
    leave(id, connection);
  }

  void leave(Id id, Connection& connection) {
    std::array<char, 16'384> piece{};
    for (int i = 0; i < kAtOnce; ++i) {
      const ssize_t got = ::recv(connection.socket.get(), piece.data(), piece.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
      if (got <= 0) return remove(id);
    }
  }

  void answered(Id id, Connection& connection) {
    end_relay(connection);
    line_.left(id);
    bounds_.may_go(id, steady_now());
    part(id, connection);
  }

  // Where descriptors are short, others give theirs.
  tl::expected<HttpRelay, int> relay_for(Id id, const Connection& connection) {
    for (;;) {
      auto relay = HttpRelay::to(connection.pass_to, connection.in, steady_now());
      if (relay || !wants_descriptors(relay.error()) || !make_room(id)) return relay;
    }
  }

  void pass_on() {
    while (const auto id = line_.next()) {
      Connection& connection = connections_.at(*id);
      auto relay = relay_for(*id, connection);
      connection.in.clear();
      if (!relay) {
        line_.left(*id);
        answer(*id, connection, not_passed_on(relay.error()));
        continue;
      }
      {
        const std::lock_guard lock(mutex_);
        passed_.emplace(relay->own_port(), connection.client);
      }
      bounds_.stays(*id);
      connection.relay = std::move(*relay);
      connection.state = State::kPassed;
      if (!connection.relay->move(connection.socket.get(), POLLIN, 0, steady_now()))
        answered(*id, connection);
    }
  }

  void look_after(TimePoint moment) {
    looked_ = moment;
    for (const Id id : bounds_.late(moment)) send_away(id);
    std::vector<Id> slow;
    for (const auto& [id, connection] : connections_) {
      const auto since = connection.relay ? connection.relay->blocked_since() : std::nullopt;
      const bool blocks = since && moment - *since >= setup_.io_timeout;
      const bool lingers = connection.state == State::kLeaving && moment - connection.leaves >= kFarewell;
      if (blocks || lingers) slow.push_back(id);
    }
    for (const Id id : slow) send_away(id);
    if (listener_ && listener_->starved()) let_in();
  }

  const DoorSetup setup_;
  std::optional<Listener> listener_;
  const std::uint16_t port_;
  ConnectionBounds bounds_;
  DoorLine line_;
  std::map<Id, Connection> connections_;
  Id last_ = 0;
  TimePoint looked_{};
  std::vector<pollfd> polled_;  // the wakeup, the listener, and those of the connections
  std::vector<Whose> whose_;
  const Descriptor wakeup_;
  std::atomic<bool> stopping_{false}, finishing_{false};
  mutable std::mutex mutex_;
  std::condition_variable over_;
  std::map<std::uint16_t, std::string> passed_;  // clients, by the port that the server sees
  std::vector<std::pair<Id, HttpAnswer>> made_;
  PageMaker pages_;
  std::thread thread_;  // last: it uses the others
};

HttpDoor::HttpDoor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpDoor::~HttpDoor() = default;

std::uint16_t HttpDoor::port() const {
  return impl_->port();
}
std::string HttpDoor::client_at(std::uint16_t port) const {
  return impl_->client_at(port);
}
bool HttpDoor::finish(Duration timeout) {
  return impl_->finish(timeout);
}

Result<std::unique_ptr<HttpDoor>> HttpDoor::open(DoorSetup setup) {
  auto listener = Listener::open(setup.address, setup.purpose);
  if (!listener) return tl::unexpected(listener.error());
  Descriptor wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wakeup.get() < 0)
    return fail(ErrorCode::kUnavailable, "out of file descriptors; raise the limit of open files");
  return std::unique_ptr<HttpDoor>(
      new HttpDoor(std::make_unique<Impl>(std::move(setup), std::move(*listener), std::move(wakeup))));
}

}  // namespace volvox
