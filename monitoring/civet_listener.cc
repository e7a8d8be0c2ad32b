#include "monitoring/civet_listener.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace volvox {
namespace {

// Connects and hangs up.
void knock(const HostPort& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  const bool bracketed = address.host.starts_with('[');
  const std::string host = bracketed ? address.host.substr(1, address.host.size() - 2) : address.host;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) return;
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    static_cast<void>(connect(fd, found->ai_addr, found->ai_addrlen));
    close(fd);
  }
  freeaddrinfo(found);
}

int begin_request(mg_connection* connection) {
  const auto* handler =
      static_cast<const CivetListener::Handler*>(mg_get_request_info(connection)->user_data);
  mg_disable_connection_keep_alive(connection);  // nor reads civetweb what is left of a refused request
  (*handler)(connection);
  return 1;  // answered
}

int no_log(const mg_connection*, const char*) {
  return 1;
}

}  // namespace

class CivetListener::Impl {
 public:
  Impl(HostPort address, Handler handler) : address_(std::move(address)), handler_(std::move(handler)) {}

  bool start(const ListenerOptions& options) {
    const std::string where = address_.host + ":" + std::to_string(address_.port);
    const std::string threads = std::to_string(options.threads);
    const std::string timeout = std::to_string(options.io_timeout_ms);
    const char* settings[] = {"listening_ports",
                              where.c_str(),
                              "num_threads",
                              threads.c_str(),
                              "request_timeout_ms",
                              timeout.c_str(),
                              "enable_keep_alive",
                              "no",
                              "tcp_nodelay",
                              "1",
                              nullptr};
    mg_callbacks callbacks{};
    callbacks.begin_request = begin_request;
    callbacks.log_message = no_log;
    context_ = mg_start(&callbacks, &handler_, settings);
    mg_server_port bound{};
    if (context_ == nullptr || mg_get_server_ports(context_, 1, &bound) < 1) return false;
    address_.port = static_cast<std::uint16_t>(bound.port);
    return true;
  }

  // civetweb's listening thread looks at its stop flag every two seconds only, unless somebody connects.
  ~Impl() {
    if (context_ == nullptr) return;
    std::atomic<bool> closed{false};
    std::thread closing([&] {
      mg_stop(context_);
      closed = true;
    });
    while (!closed) {
      knock(address_);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    closing.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::uint16_t port() const { return address_.port; }

 private:
  HostPort address_;
  Handler handler_;
  mg_context* context_ = nullptr;
};

CivetListener::CivetListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CivetListener::~CivetListener() = default;

std::uint16_t CivetListener::port() const {
  return impl_->port();
}

Result<std::unique_ptr<CivetListener>> CivetListener::start(const ListenerOptions& options, Handler handler) {
  auto impl = std::make_unique<Impl>(options.address, std::move(handler));
  if (impl->start(options)) return std::unique_ptr<CivetListener>(new CivetListener(std::move(impl)));
  return fail(ErrorCode::kUnavailable, options.address.host + ":" + std::to_string(options.address.port) +
                                           " cannot be bound for " + options.purpose +
                                           "; is another process listening there?");
}

}  // namespace volvox
