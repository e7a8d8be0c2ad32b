#pragma once

#include <string>
#include <string_view>

namespace volvox {

// Whether `text` is well-formed UTF-8 without control characters: only such text may stand in a name, a log
// or an error.
bool is_clean_text(std::string_view text);

// `text` cut to at most `max_bytes` at a character's boundary; a byte that is not clean text becomes '?'.
std::string cleaned_text(std::string_view text, std::size_t max_bytes);

}  // namespace volvox
