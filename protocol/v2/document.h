#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "protocol/limits.h"

namespace volvox {

struct V2Document {
  nlohmann::json json;
  bool has_structure = false;
};

// A request's JSON may be large, deep or full of small values, each of which would cost sixteen bytes and
// more as a document. So long lists never become one: this reads all of the text but the "data" of the
// inputs and the parameter "structure", which are read in passes of their own, straight into tensors
// (v2/data_reader.h) and lists (v2/structure_reader.h). Nesting is bounded by limits.nesting, and the number
// of values by what limits.max_tensors inputs can need. INVALID_ARGUMENT says what is wrong and where.
Result<V2Document> parse_v2_document(std::string_view text, const WireLimits& limits);

// What the parser says of text that is no JSON, as an error for a client.
Error v2_json_error(const nlohmann::json::exception& error);

}  // namespace volvox
