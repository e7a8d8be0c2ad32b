#include "serving/http_rules.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/addresses.h"

namespace volvox {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "a.example:7102" → "a.example"; "[::1]:7102" → "[::1]".
std::string_view without_port(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) return host;
  return host.substr(0, colon);
}

// A page's origin is the door's own if the browser called the door by the same name and port.
bool same_origin(std::string_view origin, std::string_view host) {
  const std::string own = lower(trim(host));
  const std::string name = lower(origin);
  for (const auto& [scheme, port] :
       {std::pair<std::string, std::string>{"http://", ":80"}, {"https://", ":443"}}) {
    if (name == scheme + own || name + port == scheme + own || name == scheme + own + port) return true;
  }
  return false;
}

HttpRefused refused(HttpRefusal reason, int status, ErrorCode code, std::string message) {
  return {reason, status, {code, std::move(message)}};
}

// As much of what a client sent as an error may show of it.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, 100)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + "'";
}

}  // namespace

std::optional<HttpRefused> HttpRules::check_sender(const HttpHeaders& headers) const {
  if (headers.host && !is_own_host(trim(*headers.host))) {
    return refused(HttpRefusal::kHost, 403, ErrorCode::kPermissionDenied,
                   "the name " + quoted(*headers.host) +
                       " is none of this server's; call it by its address, or list the name in " +
                       door_.setting + "hosts");
  }
  const std::string_view origin = headers.origin ? trim(*headers.origin) : std::string_view{};
  if (headers.origin && is_listed(origin)) return std::nullopt;
  const bool own = headers.origin && headers.host && same_origin(origin, *headers.host);
  const std::string site = lower(trim(headers.fetch_site.value_or("")));
  const bool foreign = !site.empty() && site != "none" && site != "same-origin";
  if (foreign || (headers.origin && !own)) {
    return refused(HttpRefusal::kOrigin, 403, ErrorCode::kPermissionDenied,
                   "a page of another address may not use this server" +
                       (headers.origin && door_.takes_origins
                            ? "; list " + quoted(origin) + " in " + door_.setting + "origins if it shall"
                            : std::string()));
  }
  return std::nullopt;
}

std::optional<HttpRefused> HttpRules::check_token(const HttpHeaders& headers) const {
  if (door_.tokens.empty() || find_token(headers)) return std::nullopt;
  return refused(HttpRefusal::kToken, 401, ErrorCode::kUnauthenticated,
                 headers.authorization
                     ? "the token is none of those that this server knows"
                     : "this server asks for a token; send the header Authorization: Bearer TOKEN");
}

// None at all passes: whoever sends that with a page's help says Origin, which was looked at.
std::optional<HttpRefused> HttpRules::check_content(const HttpHeaders& headers) const {
  if (!headers.content_type) return std::nullopt;
  const std::string type = lower(trim(headers.content_type->substr(0, headers.content_type->find(';'))));
  if (type == "application/json" || type == "application/octet-stream") return std::nullopt;
  return refused(
      HttpRefusal::kContentType, 415, ErrorCode::kInvalidArgument,
      "the content's type must be application/json or application/octet-stream, not " + quoted(type) +
          "; with curl write --json instead of --data, or add -H 'Content-Type: application/json'");
}

std::size_t HttpRules::token_number(const HttpHeaders& headers) const {
  if (door_.tokens.size() < 2) return 0;
  const auto found = find_token(headers);
  return found ? *found + 1 : 0;
}

bool HttpRules::is_own_host(std::string_view host) const {
  if (door_.listen_host.empty()) return true;
  const std::string name = lower(without_port(host));
  if (is_loopback(name) || name == lower(door_.listen_host)) return true;
  // Bound to all addresses, each of them is its own; and no name can be bent to a number.
  const bool all = door_.listen_host == "0.0.0.0" || door_.listen_host == "[::]" || door_.listen_host == "*";
  if (all && is_numeric_host(name)) return true;
  return std::any_of(door_.hosts.begin(), door_.hosts.end(),
                     [&](const std::string& own) { return lower(own) == name; });
}

bool HttpRules::is_listed(std::string_view origin) const {
  return std::any_of(door_.origins.begin(), door_.origins.end(),
                     [&](const std::string& known) { return lower(known) == lower(origin); });
}

std::optional<std::size_t> HttpRules::find_token(const HttpHeaders& headers) const {
  if (!headers.authorization) return std::nullopt;
  const std::string_view given = trim(*headers.authorization);
  const std::size_t space = given.find(' ');
  if (space == std::string_view::npos || lower(given.substr(0, space)) != "bearer") return std::nullopt;
  const std::string_view token = trim(given.substr(space));
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < door_.tokens.size(); ++i)
    if (equal_in_constant_time(door_.tokens[i], token)) found = i;
  return found;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  volatile unsigned char different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    different =
        static_cast<unsigned char>(different | (static_cast<unsigned char>(b[i]) ^
                                                static_cast<unsigned char>(a.empty() ? 1 : a[i % a.size()])));
  return different == 0;
}

}  // namespace volvox
