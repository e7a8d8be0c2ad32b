#include "import/onnx/read_onnx.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <onnx/onnx_pb.h>

#include "base/text.h"

namespace volvox::onnx_import {
namespace {

using Proto = onnx::TensorProto;

float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16, exponent = (half >> 10) & 31, fraction = half & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
  if (exponent == 0) {
    const float tiny = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -tiny : tiny;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// Numbers of type T that lie in raw_data, one after another.
template <class T, class Take>
Status each_raw(const std::string& raw, std::size_t count, Take take) {
  if (raw.size() != count * sizeof(T))
    return invalid("has " + std::to_string(raw.size()) + " bytes, its shape takes " +
                   std::to_string(count * sizeof(T)));
  for (std::size_t i = 0; i < count; ++i) {
    T number;
    std::memcpy(&number, raw.data() + i * sizeof(T), sizeof(T));
    take(number);
  }
  return {};
}

// In raw_data as T, or else in a list of their own.
template <class T, class List, class Take>
Status each_number(const Proto& tensor, const List& list, std::size_t count, Take take) {
  if (tensor.has_raw_data()) return each_raw<T>(tensor.raw_data(), count, take);
  if (static_cast<std::size_t>(list.size()) != count)
    return invalid("has " + std::to_string(list.size()) + " numbers, its shape takes " +
                   std::to_string(count));
  for (const auto number : list) take(static_cast<T>(number));
  return {};
}

Status read_numbers(const Proto& tensor, std::size_t count, Constant& to) {
  const auto real = [&](auto number) { to.reals.push_back(static_cast<float>(number)); };
  const auto integer = [&](auto number) { to.integers.push_back(static_cast<std::int64_t>(number)); };
  const auto& small = tensor.int32_data();
  switch (tensor.data_type()) {
    case Proto::FLOAT:
      return each_number<float>(tensor, tensor.float_data(), count, real);
    case Proto::DOUBLE:
      return each_number<double>(tensor, tensor.double_data(), count, real);
    case Proto::FLOAT16:
      return each_number<std::uint16_t>(tensor, small, count,
                                        [&](std::uint16_t half) { real(from_half(half)); });
    case Proto::BFLOAT16:
      return each_number<std::uint16_t>(tensor, small, count, [&](std::uint16_t half) {
        real(std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16));
      });
    case Proto::INT64:
      return each_number<std::int64_t>(tensor, tensor.int64_data(), count, integer);
    case Proto::INT32:
      return each_number<std::int32_t>(tensor, small, count, integer);
    case Proto::INT16:
      return each_number<std::int16_t>(tensor, small, count, integer);
    case Proto::INT8:
      return each_number<std::int8_t>(tensor, small, count, integer);
    case Proto::UINT8:
    case Proto::BOOL:
      return each_number<std::uint8_t>(tensor, small, count, integer);
    default:
      return invalid("has the type " + std::to_string(tensor.data_type()) +
                     " of TensorProto, which is not read; convert it to float or int64");
  }
}

bool is_float(std::int32_t type) {
  return type == Proto::FLOAT || type == Proto::DOUBLE || type == Proto::FLOAT16 || type == Proto::BFLOAT16;
}

Result<KnownTensor> read_tensor(const Proto& tensor) {
  const auto wrong = [&](const std::string& why) {
    return invalid("tensor " + in_quotes(tensor.name()) + " " + why);
  };
  if (tensor.data_location() == Proto::EXTERNAL || tensor.external_data_size() > 0)
    return wrong(
        "lies in another file; save the model with all of its weights inside (torch.onnx.export: "
        "external_data=False, or dynamo=False)");
  if (tensor.has_segment()) return wrong("is a part of a tensor; save it as a whole");
  auto made = std::make_shared<Constant>();
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.dims()) {
    // Also of an empty tensor no extent is larger than a tensor may be.
    if (extent < 0 || extent > kMaxConstantElements || (extent > 0 && count > kMaxConstantElements / extent))
      return wrong("has more elements than are read");
    count *= extent;
    made->shape.push_back(extent);
  }
  if (made->shape.size() > kMaxRank) return wrong("has too many axes");
  made->type = is_float(tensor.data_type()) ? Constant::Type::kReal : Constant::Type::kInteger;
  if (Status read = read_numbers(tensor, static_cast<std::size_t>(count), *made); !read)
    return wrong(read.error().message);
  return KnownTensor(std::move(made));
}

class Reader {
 public:
  Result<std::shared_ptr<const Graph>> graph(const onnx::GraphProto& proto) {
    auto made = std::make_shared<Graph>();
    if (proto.sparse_initializer_size() > 0) return invalid("sparse tensors are not read");
    for (const Proto& tensor : proto.initializer()) {
      Result<KnownTensor> read = read_tensor(tensor);
      if (!read) return tl::unexpected(read.error());
      made->constants[tensor.name()] = std::move(*read);
    }
    for (const onnx::ValueInfoProto& input : proto.input()) {
      if (!made->constants.contains(input.name())) made->inputs.push_back(input_of(input));
    }
    for (const onnx::ValueInfoProto& output : proto.output()) made->outputs.push_back(output.name());
    for (const onnx::NodeProto& one : proto.node()) {
      if (++nodes_ > kMaxNodes) return invalid("has more than " + std::to_string(kMaxNodes) + " nodes");
      Result<Node> read = node(one);
      if (!read) return tl::unexpected(read.error());
      made->nodes.push_back(std::move(*read));
    }
    return std::shared_ptr<const Graph>(std::move(made));
  }

 private:
  static GraphInput input_of(const onnx::ValueInfoProto& proto) {
    GraphInput input{.name = proto.name()};
    if (!proto.type().has_tensor_type()) return input;
    input.type = proto.type().tensor_type().elem_type();
    for (const auto& extent : proto.type().tensor_type().shape().dim()) {
      const bool known = extent.has_dim_value() && extent.dim_value() > 0;
      input.shape.push_back(known ? std::optional<std::int64_t>(extent.dim_value()) : std::nullopt);
      input.symbols.push_back(known ? "" : extent.dim_param());
    }
    return input;
  }

  Result<Node> node(const onnx::NodeProto& proto) {
    Node made{.op = proto.op_type(), .domain = proto.domain(), .name = proto.name()};
    made.inputs.assign(proto.input().begin(), proto.input().end());
    made.outputs.assign(proto.output().begin(), proto.output().end());
    if (made.domain == "ai.onnx") made.domain.clear();
    for (const onnx::AttributeProto& one : proto.attribute()) {
      Result<NodeAttribute> read = attribute(one);
      if (!read)
        return invalid("node " + in_quotes(made.name) + " (" + made.op + "), " + in_quotes(one.name()) +
                       ": " + read.error().message);
      made.attributes[one.name()] = std::move(*read);
    }
    return made;
  }

  Result<NodeAttribute> attribute(const onnx::AttributeProto& proto) {
    NodeAttribute made;
    // Writers of proto3 leave out a number that is 0.
    if (proto.has_f() || proto.type() == onnx::AttributeProto::FLOAT) made.real = proto.f();
    if (proto.has_i() || proto.type() == onnx::AttributeProto::INT) made.integer = proto.i();
    made.text = proto.s();
    made.reals.assign(proto.floats().begin(), proto.floats().end());
    made.integers.assign(proto.ints().begin(), proto.ints().end());
    made.texts.assign(proto.strings().begin(), proto.strings().end());
    if (proto.has_t()) {
      Result<KnownTensor> read = read_tensor(proto.t());
      if (!read) return tl::unexpected(read.error());
      made.tensor = std::move(*read);
    }
    if (proto.has_g()) {
      auto read = graph(proto.g());
      if (!read) return tl::unexpected(read.error());
      made.graph = std::move(*read);
    }
    return made;
  }

  std::size_t nodes_ = 0;
};

}  // namespace

Result<OnnxModel> parse_onnx(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxFileBytes)
    return invalid("is larger than " + std::to_string(kMaxFileBytes) + " bytes");
  onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto.has_graph())
    return invalid("is no ONNX model, or not all of one");
  OnnxModel model{.producer = proto.producer_name()};
  for (const auto& opset : proto.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") model.opset = opset.version();
  }
  if (model.opset < kOldestOpset || model.opset > kNewestOpset)
    return invalid("is of opset " + std::to_string(model.opset) + ", read are " +
                   std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset) +
                   "; export it with another opset_version");
  if (proto.functions_size() > 0)
    return invalid("has functions of its own (" + proto.functions(0).name() + "); export it without");
  auto graph = Reader().graph(proto.graph());
  if (!graph) return tl::unexpected(graph.error());
  model.graph = std::move(*graph);
  return model;
}

}  // namespace volvox::onnx_import
