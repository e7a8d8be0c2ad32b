#include "config/tokens.h"

#include <algorithm>

#include "config/secret_file.h"

namespace volvox {
namespace {

constexpr std::size_t kShortestToken = 16;
constexpr std::size_t kLargestFile = 1U << 20U;

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Result<std::vector<std::string>> parse_tokens(std::string_view text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const bool printable = std::all_of(line.begin(), line.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!printable || line.size() < kShortestToken) {
      return invalid(
          "a token must have at least " + std::to_string(kShortestToken) +
          " characters, letters, digits and signs without spaces; `openssl rand -hex 32` makes a good one");
    }
    tokens.emplace_back(line);
  }
  if (tokens.empty()) return invalid("there is no token in it; write one on each line");
  return tokens;
}

Result<std::vector<std::string>> read_tokens(const std::string& file) {
  const auto text = read_secret_file(file, kLargestFile);
  if (!text) return tl::unexpected(text.error());
  auto tokens = parse_tokens(*text);
  if (!tokens) return invalid(file + ": " + tokens.error().message);
  return tokens;
}

}  // namespace volvox
