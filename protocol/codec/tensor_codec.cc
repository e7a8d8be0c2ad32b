#include "protocol/codec/tensor_codec.h"

#include <cstring>
#include <string>
#include <utility>

#include "protocol/codec/capnp_message.h"

namespace volvox {
namespace {

std::string quoted(std::string_view what, std::string_view name) {
  return std::string(what) + " '" + std::string(name) + "'";
}

Status check_count(std::string_view what, std::size_t count, std::size_t limit) {
  if (count <= limit) return {};
  return invalid(std::to_string(count) + " " + std::string(what) + "s; the limit is " +
                 std::to_string(limit));
}

Status check_content(std::string_view what, const WireTensor& tensor, const WireLimits& limits) {
  if (tensor.shape.rank() > limits.max_rank) {
    return invalid(quoted(what, tensor.name) + " has rank " + std::to_string(tensor.shape.rank()) +
                   "; the limit is " + std::to_string(limits.max_rank));
  }
  const auto bytes = tensor_bytes(tensor.type, tensor.shape);
  if (!bytes)
    return invalid(quoted(what, tensor.name) + " has the impossible shape " + to_string(tensor.shape));
  if (*bytes == tensor.bytes.size()) return {};
  return invalid(quoted(what, tensor.name) + " of type " + std::string(to_string(tensor.type)) +
                 " and shape " + to_string(tensor.shape) + " needs " + std::to_string(*bytes) +
                 " bytes but has " + std::to_string(tensor.bytes.size()));
}

Result<WireShape> read_shape(std::string_view what, std::string_view name,
                             capnp::List<std::int64_t>::Reader dims) {
  if (dims.size() > WireShape::kMaxRank) {
    return invalid(quoted(what, name) + " has rank " + std::to_string(dims.size()) + "; the limit is " +
                   std::to_string(WireShape::kMaxRank));
  }
  WireShape shape;
  for (const std::int64_t dim : dims) shape.append(dim);
  return shape;
}

// Quadratic, over at most max_tensors (itself bounded) short names.
template <class Range, class NameOf>
Status check_distinct(std::string_view what, const Range& range, NameOf name_of) {
  for (std::size_t i = 1; i < range.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (name_of(range[i]) == name_of(range[j]))
        return invalid(quoted(what, name_of(range[i])) + " is given twice");
    }
  }
  return {};
}

}  // namespace

Result<WireTensor> read_tensor(std::string_view what, wire::Tensor::Reader reader, const WireLimits& limits) {
  WireTensor tensor;
  tensor.name = view_of(reader.getName());
  if (auto ok = check_given_name(what, tensor.name, limits); !ok) return tl::unexpected<Error>(ok.error());
  const auto type = static_cast<std::uint16_t>(reader.getType());
  if (type >= kWireTypes) {
    return invalid(quoted(what, tensor.name) + ": element type " + std::to_string(type) + " is not known");
  }
  tensor.type = static_cast<WireType>(type);
  auto shape = read_shape(what, tensor.name, reader.getShape());
  if (!shape) return tl::unexpected<Error>(std::move(shape).error());
  tensor.shape = *shape;
  const auto data = reader.getData();
  tensor.bytes = std::as_bytes(std::span(data.begin(), data.size()));
  if (auto ok = check_content(what, tensor, limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return tensor;
}

Result<std::vector<WireTensor>> read_tensors(std::string_view what, capnp::List<wire::Tensor>::Reader list,
                                             const WireLimits& limits) {
  if (auto ok = check_count(what, list.size(), limits.max_tensors); !ok)
    return tl::unexpected<Error>(ok.error());
  std::vector<WireTensor> tensors;
  tensors.reserve(list.size());
  for (const auto reader : list) {
    auto tensor = read_tensor(what, reader, limits);
    if (!tensor) return tl::unexpected<Error>(std::move(tensor).error());
    tensors.push_back(*tensor);
  }
  const auto ok = check_distinct(what, tensors, [](const WireTensor& tensor) { return tensor.name; });
  if (!ok) return tl::unexpected<Error>(ok.error());
  return tensors;
}

Status check_tensors(std::string_view what, std::span<const WireTensor> tensors, const WireLimits& limits) {
  if (auto ok = check_count(what, tensors.size(), limits.max_tensors); !ok) return ok;
  for (const WireTensor& tensor : tensors) {
    if (auto ok = check_given_name(what, tensor.name, limits); !ok) return ok;
    if (auto ok = check_content(what, tensor, limits); !ok) return ok;
  }
  return check_distinct(what, tensors, [](const WireTensor& tensor) { return tensor.name; });
}

void write_tensors(std::span<const WireTensor> tensors, capnp::List<wire::Tensor>::Builder list) {
  for (unsigned i = 0; i < tensors.size(); ++i) {
    const WireTensor& tensor = tensors[i];
    auto builder = list[i];
    put_text(tensor.name, [&](unsigned size) { return builder.initName(size); });
    builder.setType(static_cast<wire::ElementType>(tensor.type));
    auto shape = builder.initShape(static_cast<unsigned>(tensor.shape.rank()));
    for (unsigned axis = 0; axis < shape.size(); ++axis) shape.set(axis, tensor.shape[axis]);
    auto data = builder.initData(static_cast<unsigned>(tensor.bytes.size()));
    if (!tensor.bytes.empty()) std::memcpy(data.begin(), tensor.bytes.data(), tensor.bytes.size());
  }
}

std::size_t tensors_words(std::span<const WireTensor> tensors) {
  std::size_t words = 1;
  for (const WireTensor& tensor : tensors) {
    words += 4 + text_words(tensor.name) + tensor.shape.rank() + data_words(tensor.bytes.size());
  }
  return words;
}

Result<std::vector<std::string_view>> read_names(std::string_view what, capnp::List<capnp::Text>::Reader list,
                                                 std::size_t limit, const WireLimits& limits) {
  if (auto ok = check_count(what, list.size(), limit); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  std::vector<std::string_view> names;
  names.reserve(list.size());
  for (const auto name : list) names.push_back(view_of(name));
  if (auto ok = check_names(what, names, limit, limits); !ok)
    return tl::unexpected<Error>(std::move(ok).error());
  return names;
}

Status check_names(std::string_view what, std::span<const std::string_view> names, std::size_t limit,
                   const WireLimits& limits) {
  if (auto ok = check_count(what, names.size(), limit); !ok) return ok;
  for (const std::string_view name : names) {
    if (auto ok = check_given_name(what, name, limits); !ok) return ok;
  }
  return check_distinct(what, names, [](std::string_view name) { return name; });
}

void write_names(std::span<const std::string_view> names, capnp::List<capnp::Text>::Builder list) {
  for (unsigned i = 0; i < names.size(); ++i) {
    put_text(names[i], [&](unsigned size) { return list.init(i, size); });
  }
}

std::size_t names_words(std::span<const std::string_view> names) {
  std::size_t words = 0;
  for (const std::string_view name : names) words += 1 + text_words(name);
  return words;
}

}  // namespace volvox
