#pragma once

#include <string>

#include "base/error.h"
#include "base/time.h"

namespace volvox {

struct HttpResponse {
  int status = 0;  // 200, 503, …
  std::string body;
};

// Fetches `http://host[:port][/path]` with one GET, all in at most `at_most`. For a server's own monitoring
// pages: no redirects, no TLS, at most 16 MiB. UNAVAILABLE when nobody answers (in time), INVALID_ARGUMENT
// for another kind of URL, INTERNAL for an answer that is not HTTP. Any thread.
Result<HttpResponse> http_get(const std::string& url, Duration at_most);

// `url` up to its path, without a trailing slash: "http://localhost:9100/metrics" gives
// "http://localhost:9100". A URL without a scheme gets "http://"; another scheme stays, for http_get() to
// refuse.
std::string http_base(const std::string& url);

}  // namespace volvox
