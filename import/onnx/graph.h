#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/ir/types.h"

// What an ONNX file holds, without protobuf, whose headers take longer to read than all else here.
namespace volvox::onnx_import {

// Types of elements, as TensorProto.DataType numbers them.
inline constexpr std::int32_t kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9, kFloat16 = 10, kDouble = 11,
                              kBfloat16 = 16;

// A tensor whose numbers are known: floats of any width as f32, whole numbers and truths as i64. Extents may
// be 0.
struct Constant {
  enum class Type : std::uint8_t { kReal, kInteger };
  Type type = Type::kReal;
  Shape shape{};
  std::vector<float> reals{};
  std::vector<std::int64_t> integers{};

  bool is_real() const { return type == Type::kReal; }
  std::size_t size() const { return is_real() ? reals.size() : integers.size(); }
};
using KnownTensor = std::shared_ptr<const Constant>;

inline constexpr std::int64_t kMaxConstantElements = std::int64_t{1} << 28;
inline constexpr std::size_t kMaxRank = 8;

struct Graph;

struct NodeAttribute {
  std::optional<float> real{};
  std::optional<std::int64_t> integer{};
  std::string text{};
  std::vector<float> reals{};
  std::vector<std::int64_t> integers{};
  std::vector<std::string> texts{};
  KnownTensor tensor{};
  std::shared_ptr<const Graph> graph{};
};

struct Node {
  std::string op{}, domain{}, name{};
  std::vector<std::string> inputs{}, outputs{};  // empty: not there
  std::map<std::string, NodeAttribute, std::less<>> attributes{};

  const NodeAttribute* find(std::string_view attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? nullptr : &found->second;
  }
};

struct GraphInput {
  std::string name{};
  std::int32_t type = 0;                             // TensorProto::DataType
  std::vector<std::optional<std::int64_t>> shape{};  // nothing: symbolic …
  std::vector<std::string> symbols{};                // … of this name, which others may have as well
};

struct Graph {
  std::vector<Node> nodes{};
  std::map<std::string, KnownTensor> constants{};
  std::vector<GraphInput> inputs{};  // without those that are constants
  std::vector<std::string> outputs{};
};

struct OnnxModel {
  std::shared_ptr<const Graph> graph{};
  std::int64_t opset = 0;  // of the domain ""
  std::string producer{};
};

}  // namespace volvox::onnx_import
