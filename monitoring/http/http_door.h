#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "config/validate.h"
#include "monitoring/http/http_answer.h"
#include "serving/connection_bounds.h"
#include "serving/http_head.h"

namespace volvox {

// What a door does with a question.
struct DoorReply {
  std::function<HttpAnswer()> page;  // to be made; empty: `answer` is it
  std::string page_name{};           // those who wait for one page get it together
  HttpAnswer answer{};
  std::uint16_t pass_to = 0;  // a port on 127.0.0.1 that answers instead; 0: none
};

struct DoorSetup {
  ListenAddress address;
  const char* purpose = "";   // in errors: the setting that names the address
  ConnectionLimits limits;    // its patience: for the head of a request
  Duration io_timeout{};      // for the client, to take a piece of an answer
  std::size_t passed = 0;     // connections that are passed on at once; the others wait
  std::size_t questions = 0;  // of these, kept for what is no POST
  // By the door's thread: must not block.
  std::function<DoorReply(const HttpHead&, const std::string& client)> reply;
  std::function<void()> cut{};                   // a connection was cut: its client was too slow, or gave way
  std::function<void()> refused{};               // one was not let in: the door is full
  std::function<void(std::size_t)> connected{};  // so many are open now
};

// The outer side of an HTTP listener. One thread holds all connections, never blocks, and reads no more than
// the head of a request: connections that send nothing, or half of it, cost a descriptor and a few bytes, and
// neither a thread nor anybody's patience. What it answers itself is answered whatever others do. Requests
// with contents are passed on as they come, byte by byte, to a server on loopback that has a thread for each;
// it is shown whole heads only, and as many at once as it has threads. Each connection carries one request.
// Owned by one thread; any thread may ask.
class HttpDoor {
 public:
  // Binds and serves. UNAVAILABLE when the address cannot be bound.
  static Result<std::unique_ptr<HttpDoor>> open(DoorSetup setup);
  // Cuts what is open.
  ~HttpDoor();
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  std::uint16_t port() const;  // 0: a Unix socket

  // Whose connection was passed on from this port of loopback; empty: none of this door's.
  std::string client_at(std::uint16_t port) const;
  // Takes no new connections, and waits until those that were passed on are over. False: it took too long.
  bool finish(Duration timeout);

 private:
  class Impl;
  explicit HttpDoor(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace volvox
