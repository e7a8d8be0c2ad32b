#pragma once

#include <string>

namespace volvox {

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::string headers{};  // more of them, each with its line end
};

// As it is sent, on a connection that ends with it.
std::string http_text(const HttpAnswer& answer, bool with_body);

}  // namespace volvox
