#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace volvox::onnx_import {

// Einstein's sums, as ONNX writes them: a letter for each axis of each input and of the result. Axes of an
// ellipsis have letters of their own here, which nobody can write.
struct EinsumEquation {
  std::vector<std::string> inputs{};
  std::string result{};
};

// Refuses what is no equation for inputs of these ranks, and a letter that one input has twice.
EinsumEquation parse_einsum(std::string_view equation, const std::vector<std::size_t>& ranks);

}  // namespace volvox::onnx_import
