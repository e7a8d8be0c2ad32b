#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace volvox {

// JSON of others, where the document model would hide or choke on what must be refused: names given twice,
// and nesting deeper than `max_depth` objects and lists within each other. The error says what is wrong and
// where, but not in which file. Private to repository/.
Result<nlohmann::json> parse_strict_json(std::string_view text, std::size_t max_depth);

}  // namespace volvox
