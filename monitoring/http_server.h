#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "config/validate.h"

namespace volvox {

class CivetListener;

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

// A small HTTP/1.1 server for machines that look after this one: fixed paths, GET and HEAD only, two threads.
// Everything else is answered 404 or 405. Pages are called by its threads, two at once at most. Owned by one
// thread; destroying it waits for calls in progress.
class HttpServer {
 public:
  using Page = std::function<HttpAnswer()>;
  using Pages = std::map<std::string, Page>;  // by path: "/metrics"

  // Binds and serves. Port 0 takes any free one. UNAVAILABLE when the address cannot be bound.
  static Result<std::unique_ptr<HttpServer>> start(const HostPort& address, Pages pages);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

 private:
  explicit HttpServer(std::unique_ptr<CivetListener> listener);

  std::unique_ptr<CivetListener> listener_;
};

}  // namespace volvox
