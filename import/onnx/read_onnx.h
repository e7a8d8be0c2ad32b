#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "import/onnx/graph.h"

namespace volvox::onnx_import {

inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMaxNodes = 1U << 16;  // of all graphs of a file
inline constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 21;

// Any bytes may come: the result is a model, or an error that says what is wrong. Numbers that lie in other
// files are refused.
Result<OnnxModel> parse_onnx(std::span<const std::byte> bytes);

}  // namespace volvox::onnx_import
