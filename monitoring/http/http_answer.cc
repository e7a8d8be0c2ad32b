#include "monitoring/http/http_answer.h"

#include "serving/http_head.h"

namespace volvox {

std::string http_text(const HttpAnswer& answer, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " + http_reason_phrase(answer.status) +
                     "\r\nContent-Type: " + answer.content_type +
                     "\r\nContent-Length: " + std::to_string(answer.body.size()) +
                     "\r\nCache-Control: no-store\r\n" + answer.headers + "Connection: close\r\n\r\n";
  return with_body ? text + answer.body : text;
}

}  // namespace volvox
