#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "config/validate.h"

struct mg_connection;

namespace volvox {

struct ListenerOptions {
  HostPort address;
  std::uint32_t threads = 2;           // calls of the handler at once
  std::uint32_t io_timeout_ms = 5000;  // for the header, and between bytes of the rest
  const char* purpose = "/metrics";    // in errors
};

// A civetweb server as the house needs one: every request, whatever its path and method, goes to one handler,
// and closing takes milliseconds. Connections are closed after one request, so that idle clients hold no
// thread. The handler is called by the listener's threads, must answer, and must not throw. Owned by one
// thread; destroying it waits for calls in progress.
class CivetListener {
 public:
  using Handler = std::function<void(mg_connection*)>;

  // Binds and serves. Port 0 takes any free one. UNAVAILABLE when the address cannot be bound.
  static Result<std::unique_ptr<CivetListener>> start(const ListenerOptions& options, Handler handler);
  ~CivetListener();
  CivetListener(const CivetListener&) = delete;
  CivetListener& operator=(const CivetListener&) = delete;

  std::uint16_t port() const;

 private:
  class Impl;
  explicit CivetListener(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace volvox
