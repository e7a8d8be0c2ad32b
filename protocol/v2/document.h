#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "protocol/limits.h"

namespace volvox {

// A request's JSON may be large, deep or full of small values, each of which would cost sixteen bytes and
// more as a document. So the numbers of "data" never become one: this reads all of the text but the "data" of
// the inputs, which V2DataReader reads in a second pass, straight into tensors. Nesting is bounded by
// limits.nesting, and the number of values by what limits.max_tensors inputs can need. INVALID_ARGUMENT says
// what is wrong and where.
Result<nlohmann::json> parse_v2_document(std::string_view text, const WireLimits& limits);

// What the parser says of text that is no JSON, as an error for a client.
Error v2_json_error(const nlohmann::json::exception& error);

}  // namespace volvox
