#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace volvox {

// What a request over HTTP says about who sends it. Absent headers are empty optionals.
struct HttpHeaders {
  std::optional<std::string_view> host, origin, fetch_site, content_type, authorization;
};

// Why a request is turned away at the door.
enum class HttpRefusal : std::uint8_t { kHost, kOrigin, kContentType, kToken };
inline constexpr std::size_t kHttpRefusals = 4;

struct HttpRefused {
  HttpRefusal reason = HttpRefusal::kHost;
  int status = 403;
  Error error;
};

struct HttpRuleSettings {
  std::string listen_host;         // that it is bound to; empty: a Unix socket, whose mode says who comes in
  std::vector<std::string> hosts;  // names by which it is reached besides, without a port
  std::vector<std::string> origins;  // "https://app.example": of pages elsewhere that may use it
  std::vector<std::string> tokens;   // one of them must be shown; empty: none
  std::string setting = "http.";     // with which the names of its settings begin, for errors
  bool takes_origins = true;         // there is such a setting
};

// Every browser is a way into a door on loopback: any page may make it send requests there, and after DNS
// rebinding read the answers. So a door serves only who calls it by a name that is its own, pages that came
// from itself, and contents of types that no page of another address can send unasked. A client that is no
// browser sends no Origin and no Sec-Fetch-Site, and meets the rules of Host and Content-Type only.
// Immutable; any thread.
class HttpRules {
 public:
  explicit HttpRules(HttpRuleSettings door) : door_(std::move(door)) {}

  // Of every request.
  std::optional<HttpRefused> check_sender(const HttpHeaders& headers) const;
  // Of one that asks for more than whether the server is well.
  std::optional<HttpRefused> check_token(const HttpHeaders& headers) const;
  // Of one with a content.
  std::optional<HttpRefused> check_content(const HttpHeaders& headers) const;

  // Which of several tokens was shown, from 1: clients can be told apart by it. 0: there is one, or none.
  std::size_t token_number(const HttpHeaders& headers) const;

 private:
  bool is_own_host(std::string_view host) const;
  bool is_listed(std::string_view origin) const;
  std::optional<std::size_t> find_token(const HttpHeaders& headers) const;

  const HttpRuleSettings door_;
};

// Takes as long for any wrong text of one length, so that it cannot be guessed piece by piece.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace volvox
