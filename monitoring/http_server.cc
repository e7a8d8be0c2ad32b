#include "monitoring/http_server.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <CivetServer.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace volvox {
namespace {

const char* reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

void send(mg_connection* connection, const HttpAnswer& answer, bool with_body) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n%s"
            "Connection: close\r\n\r\n",
            answer.status, reason_phrase(answer.status), answer.content_type.c_str(), answer.body.size(),
            answer.status == 405 ? "Allow: GET, HEAD\r\n" : "");
  if (with_body) mg_write(connection, answer.body.data(), answer.body.size());
}

// Every path goes through here: civetweb's own matching by prefix is too generous.
class AllPages : public CivetHandler {
 public:
  explicit AllPages(HttpServer::Pages pages) : pages_(std::move(pages)) {}

  bool handleGet(CivetServer*, mg_connection* connection) override { return answer(connection, true); }
  bool handleHead(CivetServer*, mg_connection* connection) override { return answer(connection, false); }
  bool handlePost(CivetServer*, mg_connection* connection) override { return refuse(connection); }
  bool handlePut(CivetServer*, mg_connection* connection) override { return refuse(connection); }
  bool handleDelete(CivetServer*, mg_connection* connection) override { return refuse(connection); }
  bool handleOptions(CivetServer*, mg_connection* connection) override { return refuse(connection); }
  bool handlePatch(CivetServer*, mg_connection* connection) override { return refuse(connection); }

 private:
  bool answer(mg_connection* connection, bool with_body) {
    const auto page = pages_.find(mg_get_request_info(connection)->local_uri);
    send(connection, page == pages_.end() ? HttpAnswer{404, "no such page\n"} : call(page->second),
         with_body);
    return true;
  }
  static HttpAnswer call(const HttpServer::Page& page) {
    try {
      return page();
    } catch (const std::exception& error) {  // an exception must not unwind through civetweb's C code
      return {500, std::string(error.what()) + "\n"};
    }
  }
  static bool refuse(mg_connection* connection) {
    send(connection, {405, "only GET and HEAD\n"}, true);
    return true;
  }

  HttpServer::Pages pages_;
};

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

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const std::vector<std::string>& options, HostPort address, Pages pages)
      : address_(std::move(address)), handler_(std::move(pages)), server_(options) {
    server_.addHandler("/", handler_);
    address_.port = static_cast<std::uint16_t>(server_.getListeningPorts().at(0));
  }
  // civetweb's listening thread looks at its stop flag every two seconds only, unless somebody connects.
  ~Impl() {
    std::atomic<bool> closed{false};
    std::thread closing([&] {
      server_.close();
      closed = true;
    });
    while (!closed) {
      knock(address_);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    closing.join();
  }
  std::uint16_t port() const { return address_.port; }

 private:
  HostPort address_;
  AllPages handler_;
  CivetServer server_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl, std::uint16_t port)
    : impl_(std::move(impl)), port_(port) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HostPort& address, Pages pages) {
  const std::string where = address.host + ":" + std::to_string(address.port);
  const std::vector<std::string> options{"listening_ports",    where,  "num_threads",       "2",
                                         "request_timeout_ms", "5000", "enable_keep_alive", "no"};
  try {
    auto impl = std::make_unique<Impl>(options, address, std::move(pages));
    const std::uint16_t port = impl->port();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl), port));
  } catch (const std::exception&) {  // CivetServer says no more than that it failed
    return fail(ErrorCode::kUnavailable,
                where + " cannot be bound for /metrics; is another process listening there?");
  }
}

}  // namespace volvox
