#include "cells/model/model_definition.h"

#include <algorithm>

namespace volvox {

bool is_valid_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_allowed = [&](char c) { return is_plain(c) || c == '_' || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= 64 && is_plain(name.front()) &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

}  // namespace volvox
