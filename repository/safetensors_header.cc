#include "repository/safetensors_header.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "repository/strict_json.h"

namespace volvox {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 3;  // the header, an entry, a shape

std::optional<DType> dtype_from(std::string_view name) {
  if (name == "F32") return DType::kF32;
  if (name == "I32") return DType::kI32;
  if (name == "U64") return DType::kU64;
  return std::nullopt;
}

// Bytes of a tensor; nothing if they cannot be counted in 64 bits.
std::optional<std::uint64_t> tensor_bytes(DType dtype, const Shape& shape) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  std::uint64_t bytes = size_bytes(dtype);
  for (std::int64_t extent : shape) {
    const auto n = static_cast<std::uint64_t>(extent);
    if (n != 0 && bytes > kMost / n) return std::nullopt;
    bytes *= n;
  }
  return bytes;
}

Result<Shape> parse_shape(const Json& json) {
  constexpr std::size_t kMaxRank = 8;
  if (!json.is_array() || json.size() > kMaxRank) return invalid("its shape is no list of at most 8 extents");
  Shape shape;
  for (const Json& extent : json) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > (std::uint64_t{1} << 40)) {
      return invalid("its shape holds something that is no extent");
    }
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

Status check_keys(const Json& json) {
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(key)) return invalid("has no " + in_quotes(key));
  }
  for (const auto& item : json.items()) {
    if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets") {
      return invalid("has an unknown key " + in_quotes(item.key()));
    }
  }
  return {};
}

Result<TensorEntry> parse_entry(const std::string& name, const Json& json, std::uint64_t data_bytes) {
  if (name.empty()) return invalid("has no name");
  if (!json.is_object()) return invalid("is no object");
  if (Status status = check_keys(json); !status) return tl::unexpected(status.error());
  const Json& type = json["dtype"];
  const auto dtype = type.is_string() ? dtype_from(type.get_ref<const std::string&>()) : std::nullopt;
  if (!dtype)
    return invalid("has the type " + type.dump() +
                   ", served are F32, I32 and U64; convert it to one of them");
  Result<Shape> shape = parse_shape(json["shape"]);
  if (!shape) return tl::unexpected(shape.error());
  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return invalid("its data_offsets are no pair of offsets");
  }
  TensorEntry entry{name, *dtype, std::move(*shape), offsets[0].get<std::uint64_t>(),
                    offsets[1].get<std::uint64_t>()};
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return invalid("its data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) +
                   "] lie outside the " + std::to_string(data_bytes) + " bytes of data");
  }
  const auto bytes = tensor_bytes(entry.dtype, entry.shape);
  if (!bytes || *bytes != entry.end - entry.begin) {
    return invalid("its shape " + to_string(entry.shape) + " does not take the " +
                   std::to_string(entry.end - entry.begin) + " bytes of its data_offsets");
  }
  return entry;
}

Status check_metadata(const Json& json) {
  const auto is_text = [](const Json& value) { return value.is_string(); };
  if (json.is_object() && std::all_of(json.begin(), json.end(), is_text)) return {};
  return invalid("'__metadata__' is no map from strings to strings");
}

Status check_coverage(const std::vector<TensorEntry>& entries, std::uint64_t data_bytes) {
  std::uint64_t at = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.begin != at) {
      return invalid("tensor " + in_quotes(entry.name) +
                     (entry.begin < at ? " overlaps another" : " leaves a hole before it"));
    }
    at = entry.end;
  }
  if (at == data_bytes) return {};
  return invalid("the last " + std::to_string(data_bytes - at) + " bytes of data belong to no tensor");
}

}  // namespace

Result<std::vector<TensorEntry>> parse_safetensors_header(std::string_view json, std::uint64_t data_bytes) {
  const Result<Json> parsed = parse_strict_json(json, kMaxDepth);
  if (!parsed) return invalid("its header " + parsed.error().message);
  const Json& header = *parsed;
  if (!header.is_object()) return invalid("its header is no JSON object");
  std::vector<TensorEntry> entries;
  for (const auto& item : header.items()) {
    if (item.key() == "__metadata__") {
      if (Status status = check_metadata(item.value()); !status) return tl::unexpected(status.error());
      continue;
    }
    Result<TensorEntry> entry = parse_entry(item.key(), item.value(), data_bytes);
    if (!entry) return invalid("tensor " + in_quotes(item.key()) + " " + entry.error().message);
    entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  if (Status status = check_coverage(entries, data_bytes); !status) return tl::unexpected(status.error());
  return entries;
}

}  // namespace volvox
