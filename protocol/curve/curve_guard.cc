#include "protocol/curve/curve_guard.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "protocol/sockets/wakeup.h"

namespace volvox {
namespace {

constexpr Duration kLookForStop = std::chrono::milliseconds(100);
constexpr Duration kLookAtKeys = std::chrono::seconds(1);
constexpr std::size_t kLatest = 64;  // refused clients that are told of by name
constexpr const char* kFailures = "inproc://volvox-handshakes";
constexpr std::string_view kZapVersion = "1.0";

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void send(ZmqSocket& socket, std::string_view content, bool more) {
  ZmqFrame frame(std::as_bytes(std::span(content)));
  frame.send(socket.handle(), more);
}

// What ZeroMQ asks about one client.
struct Question {
  std::string id, address, mechanism;
  std::vector<std::byte> key;
};

// False when there is none.
bool receive(ZmqSocket& socket, Question& question) {
  ZmqFrame frame;
  if (frame.receive(socket.handle()) != 0) return false;
  // version, id, domain, address, routing id, mechanism, credentials
  for (int place = 0;; ++place) {
    if (place == 1) question.id = text(frame.bytes());
    if (place == 3) question.address = text(frame.bytes());
    if (place == 5) question.mechanism = text(frame.bytes());
    if (place == 6) question.key.assign(frame.bytes().begin(), frame.bytes().end());
    if (!frame.more() || frame.receive(socket.handle()) != 0) return true;
  }
}

}  // namespace

Result<std::unique_ptr<CurveGuard>> CurveGuard::protect(ZmqContext& context, ZmqSocket& socket,
                                                        const CurveKeys& server, CurveClients clients) {
  std::unique_ptr<CurveGuard> guard(new CurveGuard(context, std::move(clients)));
  if (Status ok = guard->open(socket, server); !ok) return tl::unexpected<Error>(std::move(ok).error());
  guard->thread_ = std::thread([raw = guard.get()] { raw->run(); });
  return guard;
}

CurveGuard::CurveGuard(ZmqContext& context, CurveClients clients)
    : questions_(context, ZMQ_REP), failures_(context, ZMQ_PAIR), clients_(std::move(clients)) {}

CurveGuard::~CurveGuard() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Status CurveGuard::open(ZmqSocket& socket, const CurveKeys& server) {
  if (questions_.handle() == nullptr || failures_.handle() == nullptr) {
    return fail(ErrorCode::kUnavailable, "out of file descriptors; raise the limit of open files");
  }
  if (Status ok = questions_.bind("inproc://zeromq.zap.01"); !ok) return ok;
  if (Status ok = socket.set_text(ZMQ_CURVE_SECRETKEY, server.secret_key); !ok) return ok;
  if (Status ok = socket.set_text(ZMQ_ZAP_DOMAIN, "volvox"); !ok) return ok;
  if (Status ok = socket.set(ZMQ_CURVE_SERVER, 1); !ok) return ok;
  const int events = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  if (zmq_socket_monitor(socket.handle(), kFailures, events) != 0) {
    return fail(ErrorCode::kUnavailable, "cannot watch the connections: " + zmq_error_text(errno));
  }
  return failures_.connect(kFailures);
}

void CurveGuard::run() {
  while (!stop_) {
    look_at_keys();
    answer_question();
    hear_of_failures();
    tell_of_trouble();
    wait_readable({questions_.fd(), failures_.fd()}, kLookForStop);
  }
}

void CurveGuard::look_at_keys() {
  const TimePoint now = steady_now();
  if (now - looked_ < kLookAtKeys) return;
  looked_ = now;
  clients_.look(now);
}

void CurveGuard::tell_of_trouble() {
  const std::lock_guard lock(mutex_);
  if (trouble_ == clients_.trouble()) return;
  trouble_ = clients_.trouble();
  troubles_.fetch_add(1, std::memory_order_release);
}

std::string CurveGuard::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void CurveGuard::answer_question() {
  for (Question question; receive(questions_, question); question = {}) {
    std::optional<std::string> name;
    if (question.mechanism == "CURVE") name = clients_.find(question.key, steady_now());
    if (!name) refuse({question.address, "its key is not among the allowed ones"});
    send(questions_, kZapVersion, true);
    send(questions_, question.id, true);
    send(questions_, name ? "200" : "400", true);
    send(questions_, name ? "" : "unknown key", true);
    send(questions_, name.value_or(""), true);
    send(questions_, "", false);
  }
}

void CurveGuard::hear_of_failures() {
  ZmqFrame event, address;
  while (event.receive(failures_.handle()) == 0) {
    if (event.more()) address.receive(failures_.handle());
    refuse({"", "it does not encrypt, or not for this server's key"});
  }
}

void CurveGuard::refuse(RefusedClient client) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (latest_.size() == kLatest) latest_.erase(latest_.begin());
  latest_.push_back(std::move(client));
}

std::vector<RefusedClient> CurveGuard::take_refused() {
  const std::lock_guard lock(mutex_);
  return std::exchange(latest_, {});
}

}  // namespace volvox
