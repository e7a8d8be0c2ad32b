#pragma once

#include <optional>
#include <string_view>

#include "protocol/tensor.h"

namespace volvox {

// The Open Inference Protocol's names for element types: "FP32", "INT64", "BOOL" …
std::string_view v2_datatype(WireType type);
// Nothing for a name that is not known, and for BYTES, which no cell computes with.
std::optional<WireType> wire_type_from_v2(std::string_view datatype);

// Whether JSON can carry its elements. FP16 and BF16 travel as binary data only.
bool v2_json_carries(WireType type);

}  // namespace volvox
