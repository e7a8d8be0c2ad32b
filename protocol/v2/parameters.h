#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "protocol/messages.h"

namespace volvox {

// The "parameters" objects of a request, which is where the protocol leaves room. Internal to the codec. Each
// refuses what it does not know: a parameter that is silently ignored is a request that does something else.

// The object of that name, which holds scalars only; an empty one if there is none.
Result<nlohmann::json> v2_parameters(const nlohmann::json& object, std::string_view where);

// priority, timeout and the sequence's go to the header. `binary_outputs` receives binary_data_output.
Status read_v2_request_parameters(const nlohmann::json& parameters, RequestHeader& header,
                                  bool& binary_outputs);

// A parameter that must be true or false, if it is there.
Status read_v2_flag(const nlohmann::json& parameters, const char* key, std::string_view where, bool& value);

}  // namespace volvox
