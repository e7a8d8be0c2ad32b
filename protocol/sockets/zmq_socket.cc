#include "protocol/sockets/zmq_socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace volvox {
namespace {

// On any of ZeroMQ's threads.
void free_frame(void* data, void* until_freed) {
  std::free(data);
  delete static_cast<FrameHold*>(until_freed);
}

void free_part(void*, void* until_freed) {
  delete static_cast<FrameHold*>(until_freed);
}

// A copy of so many bytes costs less than what keeping them apart does.
constexpr std::size_t kKeptInPlace = std::size_t{32} << 10;

// Received memory that is kept.
struct KeptMessage {
  KeptMessage() { zmq_msg_init(&message); }
  ~KeptMessage() { zmq_msg_close(&message); }
  KeptMessage(const KeptMessage&) = delete;
  KeptMessage& operator=(const KeptMessage&) = delete;

  zmq_msg_t message;
  WireBuffer bytes;
};

// What a frame is a part of, and what else is kept with it.
struct PartHold final : FrameHold {
  std::shared_ptr<const WireBuffer> whole;
  std::unique_ptr<FrameHold> other;
};

Status checked(int result, const std::string& what) {
  if (result == 0) return {};
  return fail(ErrorCode::kUnavailable, "cannot " + what + ": " + zmq_error_text(errno));
}

}  // namespace

ZmqContext::~ZmqContext() {
  while (zmq_ctx_term(context_) != 0 && errno == EINTR) {
  }
}

ZmqFrame::ZmqFrame(WireBuffer&& buffer, std::unique_ptr<FrameHold> until_freed) {
  const std::size_t size = buffer.size();
  if (size == 0) {
    zmq_msg_init(&message_);
    return;
  }
  if (buffer.whole()) {
    auto both = std::make_unique<PartHold>();
    both->whole = buffer.whole();
    both->other = std::move(until_freed);
    FrameHold* hold = both.get();
    if (zmq_msg_init_data(&message_, buffer.data(), size, free_part, hold) != 0) throw std::bad_alloc();
    static_cast<void>(both.release());
    return;
  }
  if (zmq_msg_init_data(&message_, buffer.data(), size, free_frame, until_freed.get()) != 0)
    throw std::bad_alloc();
  static_cast<void>(buffer.release());
  static_cast<void>(until_freed.release());
}

ZmqFrame::ZmqFrame(std::span<const std::byte> copy) {
  if (zmq_msg_init_size(&message_, copy.size()) != 0) throw std::bad_alloc();
  if (!copy.empty()) std::memcpy(zmq_msg_data(&message_), copy.data(), copy.size());
}

std::string_view ZmqFrame::property(const char* name) const {
  const char* value = zmq_msg_gets(&message_, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::shared_ptr<const WireBuffer> ZmqFrame::keep() {
  const auto aligned = [](const std::byte* data) {
    return reinterpret_cast<std::uintptr_t>(data) % sizeof(std::uint64_t) == 0;
  };
  if (bytes().size() < kKeptInPlace || !aligned(bytes().data())) return WireBuffer::share_copy_of(bytes());
  const auto kept = std::make_shared<KeptMessage>();
  zmq_msg_move(&kept->message, &message_);
  const auto* data = static_cast<const std::byte*>(zmq_msg_data(&kept->message));
  kept->bytes = WireBuffer::part_of(nullptr, {data, zmq_msg_size(&kept->message)});
  return {kept, &kept->bytes};
}

int ZmqFrame::send(void* socket, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  while (zmq_msg_send(&message_, socket, flags) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int ZmqFrame::receive(void* socket) {
  while (zmq_msg_recv(&message_, socket, ZMQ_DONTWAIT) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

ZmqSocket::~ZmqSocket() {
  if (socket_ != nullptr) zmq_close(socket_);
}

Status ZmqSocket::set(int option, int value) {
  return checked(zmq_setsockopt(socket_, option, &value, sizeof(value)),
                 "set socket option " + std::to_string(option) + " to " + std::to_string(value));
}

Status ZmqSocket::set64(int option, long long value) {
  static_assert(sizeof(value) == 8);
  return checked(zmq_setsockopt(socket_, option, &value, sizeof(value)),
                 "set socket option " + std::to_string(option) + " to " + std::to_string(value));
}

Status ZmqSocket::set_text(int option, const std::string& value) {
  return checked(zmq_setsockopt(socket_, option, value.data(), value.size()),
                 "set socket option " + std::to_string(option));
}

Status ZmqSocket::set_bytes(int option, std::span<const std::byte> value) {
  return checked(zmq_setsockopt(socket_, option, value.data(), value.size()),
                 "set socket option " + std::to_string(option));
}

Status ZmqSocket::detect_dead_peers(Duration after) {
  const auto whole = std::max<Duration>(after, std::chrono::seconds(3));
  const int probe_seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(whole).count() / 3);
  const int give_up_ms =
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(whole).count());
  const std::pair<int, int> settings[] = {{ZMQ_TCP_KEEPALIVE, 1},
                                          {ZMQ_TCP_KEEPALIVE_IDLE, probe_seconds},
                                          {ZMQ_TCP_KEEPALIVE_INTVL, probe_seconds},
                                          {ZMQ_TCP_KEEPALIVE_CNT, 2},
                                          {ZMQ_TCP_MAXRT, give_up_ms}};
  for (const auto& [option, value] : settings) {
    if (auto ok = set(option, value); !ok) return ok;
  }
  return {};
}

Status ZmqSocket::bind(const std::string& endpoint) {
  return checked(zmq_bind(socket_, endpoint.c_str()), "bind '" + endpoint + "'");
}

Status ZmqSocket::connect(const std::string& endpoint) {
  return checked(zmq_connect(socket_, endpoint.c_str()), "connect to '" + endpoint + "'");
}

void ZmqSocket::connect_anew(const std::string& endpoint) {
  // A connection that lingers is made again, and sends what waits, for as long as it does.
  int linger = 0;
  const int none = 0;
  std::size_t size = sizeof(linger);
  zmq_getsockopt(socket_, ZMQ_LINGER, &linger, &size);
  zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof(none));
  const bool left = zmq_disconnect(socket_, endpoint.c_str()) == 0;
  zmq_setsockopt(socket_, ZMQ_LINGER, &linger, sizeof(linger));
  if (left) zmq_connect(socket_, endpoint.c_str());
}

std::string ZmqSocket::last_endpoint() {
  char text[1024];
  std::size_t size = sizeof(text);
  if (zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, text, &size) != 0 || size == 0) return {};
  return std::string(text, size - 1);
}

int ZmqSocket::fd() {
  int descriptor = -1;
  std::size_t size = sizeof(descriptor);
  zmq_getsockopt(socket_, ZMQ_FD, &descriptor, &size);
  return descriptor;
}

std::string zmq_error_text(int error) {
  return zmq_strerror(error);
}

}  // namespace volvox
