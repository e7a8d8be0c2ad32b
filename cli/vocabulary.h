#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace volvox {

// Which id a word has: a file with a word a line, whose ids count from 0. Immutable once read: any thread.
class Vocabulary {
 public:
  // INVALID_ARGUMENT for a file that cannot be read, is empty, or has a word twice.
  static Result<Vocabulary> from_file(const std::string& path);
  // Words are ids themselves: "12 7".
  static Vocabulary of_numbers() { return {}; }

  // That of "<unk>" for a word that is not in the file; INVALID_ARGUMENT if there is none.
  Result<std::int32_t> id(std::string_view word) const;
  Result<std::vector<std::int32_t>> ids(const std::vector<std::string_view>& words) const;

 private:
  Vocabulary() = default;

  bool numbers_ = true;
  std::map<std::string, std::int32_t, std::less<>> ids_;
};

// What stands between spaces.
std::vector<std::string_view> words_of(std::string_view text);
// The characters of UTF-8 text. INVALID_ARGUMENT for what is none.
Result<std::vector<std::string_view>> characters_of(std::string_view text);

}  // namespace volvox
