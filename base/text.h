#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace volvox {

// 'name', for error messages.
inline std::string in_quotes(std::string_view name) {
  std::string text(1, '\'');
  text += name;
  text += '\'';
  return text;
}

// How a message lists what there is: "a, b, c", where `text_of` says what stands for an element.
template <class Range, class Text = std::identity>
std::string listed(const Range& range, Text text_of = {}) {
  std::string text;
  for (const auto& one : range) text.append(text.empty() ? "" : ", ").append(std::invoke(text_of, one));
  return text;
}

}  // namespace volvox
