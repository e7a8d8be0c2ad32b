#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "serving/http_rules.h"

namespace volvox {

// The head of a request over HTTP/1.x: as much of it as a door looks at before it lets the rest in. Its texts
// lie in the bytes that were parsed.
struct HttpHead {
  std::string_view method, path;  // without the query, as it was sent
  HttpHeaders headers;
};

// "OK" for 200; "Error" for one that is not used here.
const char* http_reason_phrase(int status);

// Bytes of the head at the beginning of what has come, its empty line included; nothing while it goes on.
std::optional<std::size_t> http_head_bytes(std::string_view bytes);

// INVALID_ARGUMENT for what is no such head, or names a header twice that a rule looks at: a proxy may have
// believed the other.
Result<HttpHead> parse_http_head(std::string_view head);

}  // namespace volvox
