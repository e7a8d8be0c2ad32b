#include "monitoring/http_server.h"

#include <string_view>
#include <utility>

#include <civetweb.h>

#include "monitoring/civet_listener.h"

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

HttpAnswer call(const HttpServer::Page& page) {
  try {
    return page();
  } catch (const std::exception& error) {  // an exception must not unwind through civetweb's C code
    return {500, std::string(error.what()) + "\n"};
  }
}

void answer(const HttpServer::Pages& pages, mg_connection* connection) {
  const mg_request_info& request = *mg_get_request_info(connection);
  const std::string_view method = request.request_method;
  if (method != "GET" && method != "HEAD") return send(connection, {405, "only GET and HEAD\n"}, true);
  const auto page = pages.find(request.local_uri == nullptr ? "" : request.local_uri);
  send(connection, page == pages.end() ? HttpAnswer{404, "no such page\n"} : call(page->second),
       method == "GET");
}

}  // namespace

HttpServer::HttpServer(std::unique_ptr<CivetListener> listener) : listener_(std::move(listener)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const {
  return listener_->port();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HostPort& address, Pages pages) {
  ListenerOptions options;
  options.address = address;
  auto listener = CivetListener::start(
      options, [pages = std::move(pages)](mg_connection* connection) { answer(pages, connection); });
  if (!listener) return tl::unexpected(listener.error());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(*listener)));
}

}  // namespace volvox
