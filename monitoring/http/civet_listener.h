#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"

struct mg_connection;

namespace volvox {

struct ListenerOptions {
  std::uint32_t threads = 2;           // calls of the handler at once
  std::uint32_t io_timeout_ms = 5000;  // for the header, and between bytes of the rest
};

// A civetweb server as the house needs one: at some port of 127.0.0.1, where a door passes on what may come
// in (HttpDoor), for civetweb bounds no connections, and gives each a thread before it has read anything.
// Every request, whatever its path and method, goes to one handler, and closing takes milliseconds.
// Connections are closed after one request, so that idle clients hold no thread. The handler is called by the
// listener's threads, must answer, and must not throw. Owned by one thread; destroying it waits for calls in
// progress.
class CivetListener {
 public:
  using Handler = std::function<void(mg_connection*)>;

  // Binds and serves. UNAVAILABLE when no port is free.
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
