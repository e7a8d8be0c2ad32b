#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "actors/http/http_watch.h"
#include "base/error.h"
#include "base/time.h"
#include "serving/http_rules.h"
#include "serving/upload_rules.h"

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
  HttpExchange(mg_connection* connection, HttpWatch& watch, const UploadRules& rules);

  std::string_view method() const;
  std::string_view path() const;  // decoded, without the query
  std::optional<std::string_view> header(const char* name) const;

  // The port of the connection's other end, by which its door knows it; and whose it is, once that is said.
  std::uint16_t port() const { return peer_.port; }
  void set_client(std::string client) { client_ = std::move(client); }
  const std::string& client() const { return client_; }

  // What the door's rules look at.
  HttpHeaders headers() const;

  // Bytes of the content as the client says them; nothing if it does not say, and sends pieces.
  std::optional<std::size_t> content_length() const;
  // Sets memory aside for contents of so many bytes; or says what to answer where there is none.
  using SetAside = std::function<std::optional<HttpReply>(std::size_t bytes)>;
  // The whole content; or what to answer to one that is longer than `most`, comes too slowly, ends too early,
  // or finds no memory.
  tl::expected<std::string, HttpReply> read_content(std::size_t most, const SetAside& set_aside);
  // Once. The connection is closed afterwards. JSON ends with a newline.
  void write(const HttpReply& reply);
  bool is_answered() const { return answered_; }

  // Whether the client has hung up. The first call may be slow.
  bool client_gone();

 private:
  tl::expected<std::string, HttpReply> read_pieces(std::size_t most, std::optional<std::size_t> length,
                                                   const SetAside& set_aside);

  mg_connection* connection_;
  SocketFinder& sockets_;
  UploadRules rules_;
  PeerAddress peer_;
  std::string client_;
  HttpWatch::Guard guard_;
  std::optional<int> socket_;
  bool answered_ = false;
};

}  // namespace volvox
