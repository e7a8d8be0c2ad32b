#include "protocol/text.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace volvox {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// Bytes of the clean character that starts at `at`, 0 if there is none. Refuses overlong forms, surrogates
// and code points beyond U+10FFFF, as the Unicode Standard's table 3-7 does.
std::size_t clean_character(std::string_view text, std::size_t at) {
  const unsigned char first = byte_at(text, at);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() - at < length) return 0;
  const unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : first == 0xc2 ? 0xa0 : 0x80;
  const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte_at(text, at + 1) < low || byte_at(text, at + 1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

bool is_clean_text(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = clean_character(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string cleaned_text(std::string_view text, std::size_t max_bytes) {
  std::string clean;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = clean_character(text, at);
    const std::size_t bytes = length == 0 ? 1 : length;
    if (clean.size() + bytes > max_bytes) break;
    clean.append(length == 0 ? std::string_view("?") : text.substr(at, length));
    at += bytes;
  }
  return clean;
}

}  // namespace volvox
