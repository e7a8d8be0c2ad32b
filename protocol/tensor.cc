#include "protocol/tensor.h"

#include <array>
#include <limits>

namespace volvox {
namespace {

struct TypeInfo {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<TypeInfo, kWireTypes> kTypes{{{"f32", 4},
                                                   {"f64", 8},
                                                   {"f16", 2},
                                                   {"bf16", 2},
                                                   {"i8", 1},
                                                   {"i16", 2},
                                                   {"i32", 4},
                                                   {"i64", 8},
                                                   {"u8", 1},
                                                   {"u16", 2},
                                                   {"u32", 4},
                                                   {"u64", 8},
                                                   {"bool", 1}}};

static_assert(wire_type_of<bool>() == WireType::kBool && wire_type_of<float>() == WireType::kF32);
static_assert(wire_type_of<std::int32_t>() == WireType::kI32 &&
              wire_type_of<std::uint64_t>() == WireType::kU64);

}  // namespace

std::string_view to_string(WireType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::optional<WireType> wire_type_from(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<WireType>(i);
  }
  return std::nullopt;
}

std::size_t element_bytes(WireType type) {
  return kTypes[static_cast<std::size_t>(type)].bytes;
}

std::string to_string(const WireShape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

std::optional<std::size_t> tensor_bytes(WireType type, const WireShape& shape) {
  std::int64_t bytes = static_cast<std::int64_t>(element_bytes(type));
  bool empty = false;
  for (const std::int64_t dim : shape.dims()) {
    if (dim < 0) return std::nullopt;
    empty = empty || dim == 0;
    // Zero dimensions do not excuse the others: [0, 2^40, 2^40] is refused as well.
    if (dim > 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

std::string WireTensor::type_mismatch(WireType wanted) const {
  return "tensor '" + std::string(name) + "' holds " + std::string(to_string(type)) + ", not " +
         std::string(to_string(wanted));
}

}  // namespace volvox
