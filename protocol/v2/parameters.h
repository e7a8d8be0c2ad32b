#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "protocol/limits.h"
#include "protocol/v2/request_codec.h"

namespace volvox {

// The "parameters" objects of a request, which is where the protocol leaves room. Internal to the codec. Each
// refuses what it does not know: a parameter that is silently ignored is a request that does something else.

// The object of that name, which holds scalars only; an empty one if there is none.
Result<nlohmann::json> v2_parameters(const nlohmann::json& object, std::string_view where);

// Fills the request's priority, deadline, sequence, and whether its outputs are to be binary. A "structure"
// is none of these: v2/structure_reader.h reads it.
Status read_v2_request_parameters(const nlohmann::json& parameters, const WireLimits& limits,
                                  V2Request& request);

// A parameter that must be true or false, if it is there.
Status read_v2_flag(const nlohmann::json& parameters, const char* key, std::string_view where, bool& value);

}  // namespace volvox
