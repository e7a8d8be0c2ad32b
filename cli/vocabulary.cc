#include "cli/vocabulary.h"

#include <charconv>
#include <fstream>

#include "base/text.h"

namespace volvox {

Result<Vocabulary> Vocabulary::from_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return invalid("cannot read the vocabulary in " + in_quotes(path) + "; check the path");
  Vocabulary vocabulary;
  vocabulary.numbers_ = false;
  std::string word;
  while (std::getline(file, word)) {
    if (!word.empty() && word.back() == '\r') word.pop_back();
    const auto id = static_cast<std::int32_t>(vocabulary.ids_.size());
    if (!vocabulary.ids_.emplace(word, id).second)
      return invalid(path + ":" + std::to_string(id + 1) + ": " + in_quotes(word) + " comes twice");
  }
  if (vocabulary.ids_.empty()) return invalid(in_quotes(path) + " holds no words");
  return vocabulary;
}

Result<std::int32_t> Vocabulary::id(std::string_view word) const {
  if (numbers_) {
    std::int32_t number = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
    if (read.ec == std::errc() && read.ptr == word.data() + word.size()) return number;
    return invalid(in_quotes(word) + " is no token id; name a file of words with --vocabulary");
  }
  auto found = ids_.find(word);
  if (found == ids_.end()) found = ids_.find("<unk>");
  if (found != ids_.end()) return found->second;
  return invalid("the vocabulary has no " + in_quotes(word) + ", and no <unk>");
}

Result<std::vector<std::int32_t>> Vocabulary::ids(const std::vector<std::string_view>& words) const {
  std::vector<std::int32_t> found;
  for (const std::string_view word : words) {
    const auto number = id(word);
    if (!number) return tl::unexpected(number.error());
    found.push_back(*number);
  }
  return found;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kSpaces); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

Result<std::vector<std::string_view>> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t bytes = first < 0x80       ? 1
                              : first >> 5 == 6  ? 2
                              : first >> 4 == 14 ? 3
                              : first >> 3 == 30 ? 4
                                                 : 0;
    if (bytes == 0 || at + bytes > text.size()) return invalid("the text is no UTF-8");
    characters.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return characters;
}

}  // namespace volvox
