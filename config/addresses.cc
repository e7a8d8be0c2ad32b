#include "config/addresses.h"

#include <utility>

namespace volvox {

std::vector<std::string> split_addresses(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text + ",") {
    if (c == ' ') continue;
    if (c != ',') {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  return parts;
}

std::string without_brackets(const std::string& host) {
  return host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

}  // namespace volvox
