#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "config/validate.h"
#include "monitoring/http/http_door.h"
#include "serving/http_rules.h"

namespace volvox {

// A small HTTP/1.1 server for machines that look after this one: fixed paths, GET and HEAD only. Everything
// else is answered 404 or 405. However many connections send nothing, half of a request, or read nothing, a
// page that takes no time is answered at once (HttpDoor). Pages are made by two threads, each page by one at
// a time. Owned by one thread; destroying it waits for pages that are being made.
class HttpServer {
 public:
  struct Page {
    std::function<HttpAnswer()> make;
    bool for_all = false;  // also for those who show no token
  };
  using Pages = std::map<std::string, Page>;  // by path: "/metrics"

  struct Setup {
    ListenAddress address;
    const char* purpose = "server.metrics";  // in errors: the setting that names the address
    HttpRuleSettings rules;
    std::size_t connections = 64;
    // Called by the server's thread: a request was turned away; a connection was not let in; one was cut.
    std::function<void(HttpRefusal)> turned_away{};
    std::function<void()> refused{}, cut{};
  };

  // Binds and serves. Port 0 takes any free one. UNAVAILABLE when the address cannot be bound.
  static Result<std::unique_ptr<HttpServer>> start(Setup setup, Pages pages);

  std::uint16_t port() const { return door_->port(); }  // 0: a Unix socket

 private:
  explicit HttpServer(std::unique_ptr<HttpDoor> door) : door_(std::move(door)) {}

  std::unique_ptr<HttpDoor> door_;
};

}  // namespace volvox
