#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "actors/http_watch.h"
#include "base/error.h"
#include "base/time.h"

struct mg_connection;

namespace volvox {

struct HttpReply {
  int status = 200;
  std::string content{};
  std::string content_type = "application/json";
  std::string headers{};             // more of them, each with its line end
  std::optional<ErrorCode> error{};  // what it says, if it is one
};

// The status that stands for an error of the house.
int http_status(ErrorCode code);
// {"error": …} with that status, the error's name in Volvox-Error, and when to come back (0: no advice).
HttpReply http_error(const Error& error, std::uint64_t retry_after_us = 0);
HttpReply http_error(int status, const Error& error);

// One HTTP request and its answer, on a thread of civetweb's, which owns the connection. Sending and reading
// are bounded in time by the watch.
class HttpExchange {
 public:
  HttpExchange(mg_connection* connection, HttpWatch& watch, Duration io_timeout);

  std::string_view method() const;
  std::string_view path() const;  // decoded, without the query
  std::optional<std::string_view> header(const char* name) const;

  // Bytes of the content as the client says them; nothing if it does not say, and sends pieces.
  std::optional<std::size_t> content_length() const;
  // The whole content; or what to answer to one that is longer than `most`, or ends too early.
  tl::expected<std::string, HttpReply> read_content(std::size_t most);
  // Once. The connection is closed afterwards.
  void write(const HttpReply& reply);

  // Whether the client has hung up. The first call may be slow.
  bool client_gone();

 private:
  void skip_rest();

  mg_connection* connection_;
  SocketFinder& sockets_;
  Duration io_timeout_;
  PeerAddress peer_;
  HttpWatch::Guard guard_;
  std::optional<int> socket_;
  bool content_read_ = false;
};

}  // namespace volvox
