#include "protocol/v2/datatype.h"

#include <array>

namespace volvox {
namespace {

// In the order of WireType.
constexpr std::array<std::string_view, kWireTypes> kNames{"FP32",   "FP64",   "FP16",  "BF16",  "INT8",
                                                          "INT16",  "INT32",  "INT64", "UINT8", "UINT16",
                                                          "UINT32", "UINT64", "BOOL"};

}  // namespace

std::string_view v2_datatype(WireType type) {
  return kNames[static_cast<std::size_t>(type)];
}

std::optional<WireType> wire_type_from_v2(std::string_view datatype) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == datatype) return static_cast<WireType>(i);
  }
  return std::nullopt;
}

bool v2_json_carries(WireType type) {
  return type != WireType::kF16 && type != WireType::kBf16;
}

}  // namespace volvox
