#include "cells/model/model_definition.h"

#include <algorithm>

#include "cells/library/cell_kind.h"

namespace volvox {

CellSizes sizes_of(const CellDefinition& definition) {
  return {.input = definition.input == 0 ? definition.hidden : definition.input,
          .hidden = definition.hidden,
          .start = definition.start,
          .top_k = definition.top_k,
          .temperature = definition.temperature,
          .beams = definition.beams,
          .length_penalty = definition.length_penalty,
          .end = definition.end,
          .symbols = definition.symbols};
}

bool is_valid_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_allowed = [&](char c) { return is_plain(c) || c == '_' || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= 64 && is_plain(name.front()) &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

}  // namespace volvox
