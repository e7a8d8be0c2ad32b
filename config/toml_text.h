#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <toml++/toml.h>

#include "base/error.h"

namespace volvox {

// What `read` makes of the table that a text holds: a Result. A text that is no TOML: INVALID_ARGUMENT,
// "NAME:LINE: why".
template <class Read>
auto read_toml(std::string_view text, std::string_view name, Read read)
    -> decltype(read(std::declval<const toml::table&>())) {
  try {
    return read(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    return invalid(std::string(name) + ":" + std::to_string(error.source().begin.line) + ": " +
                   std::string(error.description()));
  }
}

}  // namespace volvox
