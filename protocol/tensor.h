#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/fixed_vector.h"
#include "config/wire_bounds.h"

namespace volvox {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian and is read in place");

// Type of a tensor's elements. The numbers travel: append, never reorder.
enum class WireType : std::uint8_t {
  kF32,
  kF64,
  kF16,
  kBf16,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool
};

inline constexpr std::size_t kWireTypes = 13;

// "f32", "i64", …: the names that users read and write.
std::string_view to_string(WireType type);
std::optional<WireType> wire_type_from(std::string_view name);

// Bytes of one element.
std::size_t element_bytes(WireType type);

// The WireType of a C++ arithmetic type; bool is one byte.
template <class T>
constexpr WireType wire_type_of() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "no such element on the wire");
  if constexpr (std::is_same_v<T, bool>) return WireType::kBool;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? WireType::kF32 : WireType::kF64;
  constexpr int kLog = std::countr_zero(sizeof(T));
  return static_cast<WireType>(static_cast<int>(std::is_signed_v<T> ? WireType::kI8 : WireType::kU8) + kLog);
}

// Dimensions of a tensor, outermost first. No dimension: a scalar. A plain value without allocation.
class WireShape {
 public:
  static constexpr std::size_t kMaxRank = WireBounds::kMostRank;

  WireShape() = default;
  WireShape(std::initializer_list<std::int64_t> dims) {
    for (const std::int64_t dim : dims) append(dim);
  }

  // False, and nothing changes, at the ninth dimension.
  bool append(std::int64_t dim) {
    if (rank() == kMaxRank) return false;
    dims_.push_back(dim);
    return true;
  }
  std::size_t rank() const { return dims_.size(); }
  std::span<const std::int64_t> dims() const { return dims_; }
  std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  bool operator==(const WireShape&) const = default;

 private:
  FixedVector<std::int64_t, kMaxRank> dims_;
};

// "[3, 80]".
std::string to_string(const WireShape& shape);

// Bytes of a tensor; nothing if a dimension is negative or the product does not fit in 63 bits.
std::optional<std::size_t> tensor_bytes(WireType type, const WireShape& shape);

// A named tensor that owns nothing: name and bytes belong to whoever made it (a decoded body's buffer, or the
// sender's vectors). Elements are row-major, little-endian, without gaps. Decoded bytes are 8-byte aligned.
struct WireTensor {
  std::string_view name;
  WireType type = WireType::kF32;
  WireShape shape;
  std::span<const std::byte> bytes;

  // The elements in place, borrowed like `bytes`. INVALID_ARGUMENT if T is another type than the tensor's.
  template <class T>
  Result<std::span<const T>> values() const {
    if (wire_type_of<T>() != type) return invalid(type_mismatch(wire_type_of<T>()));
    return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  }

 private:
  std::string type_mismatch(WireType wanted) const;
};

// A tensor over `values`, which must outlive it. Without a shape: one dimension. The encoder checks that both
// agree.
template <class T, std::size_t Extent>
WireTensor wire_tensor(std::string_view name, std::span<T, Extent> values, const WireShape& shape) {
  WireTensor tensor;
  tensor.name = name;
  tensor.type = wire_type_of<std::remove_const_t<T>>();
  tensor.shape = shape;
  tensor.bytes = std::as_bytes(values);
  return tensor;
}
template <class T, std::size_t Extent>
WireTensor wire_tensor(std::string_view name, std::span<T, Extent> values) {
  return wire_tensor(name, values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace volvox
