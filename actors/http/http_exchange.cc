#include "actors/http/http_exchange.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <civetweb.h>

#include "actors/work/work.h"
#include "base/clock.h"
#include "protocol/v2/response_codec.h"
#include "serving/http_head.h"

namespace volvox {
namespace {

constexpr std::size_t kPiece = 65'536, kSmallPiece = 1024;
constexpr Duration kQuick = std::chrono::milliseconds(20);  // for a piece

PeerAddress peer_of(const mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  return {info.remote_addr, static_cast<std::uint16_t>(info.remote_port),
          static_cast<std::uint16_t>(info.server_port)};
}

tl::unexpected<HttpReply> too_large(std::size_t most) {
  return tl::unexpected(http_error(
      413, {ErrorCode::kInvalidArgument, "the content is larger than " + std::to_string(most) + " bytes"}));
}

tl::unexpected<HttpReply> broken_off() {
  return tl::unexpected(http_error(
      408, {ErrorCode::kInvalidArgument,
            "the content ended early, came too slowly, or came in pieces that are none of HTTP's"}));
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

HttpExchange::HttpExchange(mg_connection* connection, HttpWatch& watch, const UploadRules& rules)
    : connection_(connection),
      sockets_(watch.sockets()),
      rules_(rules),
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

HttpHeaders HttpExchange::headers() const {
  return {header("Host"), header("Origin"), header("Sec-Fetch-Site"), header("Content-Type"),
          header("Authorization")};
}

std::optional<std::size_t> HttpExchange::content_length() const {
  const long long length = mg_get_request_info(connection_)->content_length;
  if (length >= 0) return static_cast<std::size_t>(length);
  if (header("Transfer-Encoding")) return std::nullopt;
  return 0;
}

tl::expected<std::string, HttpReply> HttpExchange::read_content(std::size_t most, const SetAside& set_aside) {
  const auto length = content_length();
  if (length && *length > most) return too_large(most);
  if (auto refused = set_aside(UploadRules::set_aside(0, length.value_or(most))))
    return tl::unexpected(std::move(*refused));
  if (const auto expect = header("Expect"); expect && mg_strcasecmp(expect->data(), "100-continue") == 0) {
    mg_printf(connection_, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  auto content = read_pieces(most, length, set_aside);
  guard_.lift();
  return content;
}

// civetweb reads until a piece is full: small ones show how fast a slow client is. Of a content in pieces it
// tells the end (0) from pieces that were cut, or are none (-1).
tl::expected<std::string, HttpReply> HttpExchange::read_pieces(std::size_t most,
                                                               std::optional<std::size_t> length,
                                                               const SetAside& set_aside) {
  const TimePoint start = steady_now();
  const std::size_t all = length.value_or(most);
  std::size_t granted = UploadRules::set_aside(0, all), next = kSmallPiece;
  std::string content;
  std::vector<char> piece(std::min(kPiece, all));
  while (!length || content.size() < *length) {
    const std::size_t bytes = std::min(piece.size(), next);
    const TimePoint asked = steady_now();
    guard_.limit_sending(rules_.due(start, content.size(), bytes));
    const int got = mg_read(connection_, piece.data(), bytes);
    if (got == 0 && !length) break;
    if (got <= 0) return broken_off();
    next = steady_now() - asked < kQuick ? std::min(2 * next, kPiece) : kSmallPiece;
    content.append(piece.data(), static_cast<std::size_t>(got));
    if (content.size() > most) return too_large(most);
    if (content.size() <= granted) continue;
    granted = UploadRules::set_aside(content.size(), all);
    if (auto refused = set_aside(granted)) return tl::unexpected(std::move(*refused));
  }
  return content;
}

// What of a refused content is still to come, the door takes in and drops: no thread waits for it.
void HttpExchange::write(const HttpReply& reply) {
  // Without it a shell's prompt stands behind the answer.
  const bool is_json = reply.content_type == "application/json" && !reply.content.empty();
  const std::string_view end = is_json ? "\n" : "";
  guard_.limit_reading(steady_now() + rules_.io_timeout);
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + http_reason_phrase(reply.status) +
                     "\r\nContent-Type: " + reply.content_type +
                     "\r\nContent-Length: " + std::to_string(reply.content.size() + end.size()) +
                     "\r\nCache-Control: no-store\r\nConnection: close\r\n" + reply.headers + "\r\n";
  const bool with_content = method() != "HEAD", is_large = reply.content.size() >= kPiece;
  if (with_content && !is_large) head.append(reply.content).append(end);  // one segment for a short one
  answered_ = true;
  mg_write(connection_, head.data(), head.size());
  if (with_content && is_large) {
    mg_write(connection_, reply.content.data(), reply.content.size());
    mg_write(connection_, end.data(), end.size());
  }
  guard_.lift();
}

bool HttpExchange::client_gone() {
  if (!socket_) socket_ = sockets_.find(peer_);
  return *socket_ >= 0 && has_hung_up(*socket_);
}

}  // namespace volvox
