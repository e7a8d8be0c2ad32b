#include "serving/http_head.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace volvox {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_named(std::string_view name, std::string_view lower) {
  return std::equal(name.begin(), name.end(), lower.begin(), lower.end(),
                    [](unsigned char a, char b) { return std::tolower(a) == b; });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '!' || c == '#' || c == '$' ||
           c == '%' || c == '&' || c == '\'' || c == '*' || c == '+' || c == '^' || c == '`' || c == '|' ||
           c == '~';
  });
}

Status read_request_line(std::string_view line, HttpHead& head) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return invalid("the first line is no request of HTTP/1.1");
  const std::string_view version = line.substr(last + 1), target = line.substr(first + 1, last - first - 1);
  head.method = line.substr(0, first);
  if (!is_token(head.method) || (version != "HTTP/1.1" && version != "HTTP/1.0"))
    return invalid("the first line is no request of HTTP/1.1");
  const bool printable =
      std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c != '\x7f'; });
  if (target.empty() || target.front() != '/' || !printable)
    return invalid("the request must name a path that begins with /");
  head.path = target.substr(0, target.find_first_of("?#"));
  return {};
}

std::optional<std::string_view>* place_of(std::string_view name, HttpHeaders& headers) {
  const std::array<std::pair<std::string_view, std::optional<std::string_view>*>, 5> known{
      {{"host", &headers.host},
       {"origin", &headers.origin},
       {"sec-fetch-site", &headers.fetch_site},
       {"content-type", &headers.content_type},
       {"authorization", &headers.authorization}}};
  for (const auto& [lower, place] : known) {
    if (is_named(name, lower)) return place;
  }
  return nullptr;
}

Status read_header(std::string_view line, HttpHeaders& headers) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return invalid("a line of the header is none: write NAME: VALUE");
  auto* const place = place_of(line.substr(0, colon), headers);
  if (place == nullptr) return {};
  if (*place) return invalid("the header names " + std::string(line.substr(0, colon)) + " twice");
  *place = trim(line.substr(colon + 1));
  return {};
}

}  // namespace

const char* http_reason_phrase(int status) {
  constexpr std::array<std::pair<int, const char*>, 17> kPhrases{{{200, "OK"},
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
                                                                  {431, "Request Header Fields Too Large"},
                                                                  {499, "Client Closed Request"},
                                                                  {500, "Internal Server Error"},
                                                                  {503, "Service Unavailable"},
                                                                  {504, "Gateway Timeout"}}};
  for (const auto& [code, phrase] : kPhrases) {
    if (code == status) return phrase;
  }
  return "Error";
}

std::optional<std::size_t> http_head_bytes(std::string_view bytes) {
  const std::size_t end = bytes.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kEnd.size();
}

Result<HttpHead> parse_http_head(std::string_view text) {
  HttpHead head;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return invalid("the header is cut off");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    if (line.empty()) break;
    if (line.find('\0') != std::string_view::npos || line.find('\n') != std::string_view::npos)
      return invalid("the header holds a byte that no header may hold");
    const Status read = first ? read_request_line(line, head) : read_header(line, head.headers);
    if (!read) return tl::unexpected(read.error());
    first = false;
  }
  if (first) return invalid("there is no request");
  return head;
}

}  // namespace volvox
