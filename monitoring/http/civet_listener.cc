#include "monitoring/http/civet_listener.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "monitoring/http/descriptor.h"

namespace volvox {
namespace {

// Connects and hangs up.
void knock(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd) static_cast<void>(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
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
  explicit Impl(Handler handler) : handler_(std::move(handler)) {}

  bool start(const ListenerOptions& options) {
    const std::string threads = std::to_string(options.threads);
    const std::string timeout = std::to_string(options.io_timeout_ms);
    const char* settings[] = {"listening_ports",
                              "127.0.0.1:0",
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
    port_ = static_cast<std::uint16_t>(bound.port);
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
      knock(port_);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    closing.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_ = 0;
  Handler handler_;
  mg_context* context_ = nullptr;
};

CivetListener::CivetListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CivetListener::~CivetListener() = default;

std::uint16_t CivetListener::port() const {
  return impl_->port();
}

Result<std::unique_ptr<CivetListener>> CivetListener::start(const ListenerOptions& options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(handler));
  if (impl->start(options)) return std::unique_ptr<CivetListener>(new CivetListener(std::move(impl)));
  return fail(ErrorCode::kUnavailable, "no port of 127.0.0.1 can be bound for the threads of http.listen");
}

}  // namespace volvox
