#include "actors/http_exchange.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <civetweb.h>

#include "actors/work.h"
#include "protocol/v2/response_codec.h"

namespace volvox {
namespace {

constexpr std::size_t kPiece = 65'536;
// A refused content of up to this size is read before the connection is closed: closed with bytes unread, it
// would be reset, and the client might never see why.
constexpr std::size_t kSkipped = std::size_t{1} << 20;

PeerAddress peer_of(const mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  return {info.remote_addr, static_cast<std::uint16_t>(info.remote_port),
          static_cast<std::uint16_t>(info.server_port)};
}

const char* reason_phrase(int status) {
  constexpr std::array<std::pair<int, const char*>, 16> kPhrases{{{200, "OK"},
                                                                  {400, "Bad Request"},
                                                                  {401, "Unauthorized"},
                                                                  {403, "Forbidden"},
                                                                  {404, "Not Found"},
                                                                  {405, "Method Not Allowed"},
                                                                  {408, "Request Timeout"},
                                                                  {409, "Conflict"},
                                                                  {410, "Gone"},
                                                                  {413, "Content Too Large"},
                                                                  {415, "Unsupported Media Type"},
                                                                  {429, "Too Many Requests"},
                                                                  {499, "Client Closed Request"},
                                                                  {500, "Internal Server Error"},
                                                                  {503, "Service Unavailable"},
                                                                  {504, "Gateway Timeout"}}};
  for (const auto& [code, phrase] : kPhrases) {
    if (code == status) return phrase;
  }
  return "Error";
}

tl::unexpected<HttpReply> too_large(std::size_t most) {
  return tl::unexpected(http_error(
      413, {ErrorCode::kInvalidArgument, "the content is larger than " + std::to_string(most) + " bytes"}));
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupportedVersion:
      return 400;
    case ErrorCode::kModelNotFound:
      return 404;
    case ErrorCode::kOverloaded:
      return 429;
    case ErrorCode::kDeadlineExceeded:
      return 504;
    case ErrorCode::kCancelled:
      return 499;
    case ErrorCode::kSessionExpired:
    case ErrorCode::kSessionLost:
      return 410;
    case ErrorCode::kUnauthenticated:
      return 401;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kInternal:
      break;
  }
  return 500;
}

HttpReply http_error(int status, const Error& error) {
  HttpReply reply;
  reply.status = status;
  reply.content = v2_error_content(error.message);
  reply.error = error.code;
  reply.headers = "Volvox-Error: " + std::string(to_string(error.code)) + "\r\n";
  return reply;
}

HttpReply http_error(const Error& error, std::uint64_t retry_after_us) {
  HttpReply reply = http_error(http_status(error.code), error);
  if (reply.status == 429 || reply.status == 503) {
    const std::uint64_t seconds = std::max<std::uint64_t>(1, (retry_after_us + 999'999) / 1'000'000);
    reply.headers += "Retry-After: " + std::to_string(seconds) + "\r\n";
  }
  if (retry_after_us > 0) {
    reply.headers += "Volvox-Retry-After-Ms: " + std::to_string((retry_after_us + 999) / 1000) + "\r\n";
  }
  return reply;
}

HttpExchange::HttpExchange(mg_connection* connection, HttpWatch& watch, Duration io_timeout)
    : connection_(connection),
      sockets_(watch.sockets()),
      io_timeout_(io_timeout),
      peer_(peer_of(connection)),
      guard_(watch, peer_) {}

std::string_view HttpExchange::method() const {
  return mg_get_request_info(connection_)->request_method;
}

std::string_view HttpExchange::path() const {
  const char* path = mg_get_request_info(connection_)->local_uri;
  return path == nullptr ? "" : path;
}

std::optional<std::string_view> HttpExchange::header(const char* name) const {
  const char* value = mg_get_header(connection_, name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::optional<std::size_t> HttpExchange::content_length() const {
  const long long length = mg_get_request_info(connection_)->content_length;
  if (length >= 0) return static_cast<std::size_t>(length);
  if (header("Transfer-Encoding")) return std::nullopt;
  return 0;
}

tl::expected<std::string, HttpReply> HttpExchange::read_content(std::size_t most) {
  const auto length = content_length();
  if (length && *length > most) return too_large(most);
  if (const auto expect = header("Expect"); expect && mg_strcasecmp(expect->data(), "100-continue") == 0) {
    mg_printf(connection_, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  content_read_ = true;
  guard_.limit_sending(steady_now() + io_timeout_);
  std::string content;
  content.reserve(length.value_or(0));
  std::vector<char> piece(std::min(kPiece, length.value_or(kPiece)));
  while (!length || content.size() < *length) {
    const int got = mg_read(connection_, piece.data(), piece.size());
    if (got <= 0) break;
    content.append(piece.data(), static_cast<std::size_t>(got));
    if (content.size() > most) return too_large(most);
  }
  guard_.lift();
  if (!length || content.size() == *length) return content;
  return tl::unexpected(
      http_error(408, {ErrorCode::kInvalidArgument, "the content ended early, or came too slowly"}));
}

void HttpExchange::skip_rest() {
  std::array<char, 4096> piece{};
  for (std::size_t skipped = 0; skipped < kSkipped;) {
    const int got = mg_read(connection_, piece.data(), piece.size());
    if (got <= 0) return;
    skipped += static_cast<std::size_t>(got);
  }
}

void HttpExchange::write(const HttpReply& reply) {
  guard_.limit_reading(steady_now() + io_timeout_);
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + reason_phrase(reply.status) +
                     "\r\nContent-Type: " + reply.content_type +
                     "\r\nContent-Length: " + std::to_string(reply.content.size()) +
                     "\r\nCache-Control: no-store\r\nConnection: close\r\n" + reply.headers + "\r\n";
  const bool with_content = method() != "HEAD";
  if (with_content && reply.content.size() < kPiece) head += reply.content;  // one segment for a short one
  mg_write(connection_, head.data(), head.size());
  if (with_content && reply.content.size() >= kPiece)
    mg_write(connection_, reply.content.data(), reply.content.size());
  if (!content_read_ && content_length() != std::size_t{0}) skip_rest();
  guard_.lift();
}

bool HttpExchange::client_gone() {
  if (!socket_) socket_ = sockets_.find(peer_);
  return *socket_ >= 0 && has_hung_up(*socket_);
}

}  // namespace volvox
