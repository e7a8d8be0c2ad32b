#pragma once

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

}  // namespace volvox
