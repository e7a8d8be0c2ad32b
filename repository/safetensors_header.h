#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/types.h"

namespace volvox {

// Where one tensor lies in the data of a safetensors file.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes, from the end of the header
};

// Reads the JSON header of a safetensors file whose data has `data_bytes` bytes. Entries come in ascending
// order of their place. Checks all that can be checked: nesting, names given once, known types, shapes whose
// sizes are their tensors' bytes, and data that is covered without overlap or hole. The error says what is
// wrong, without the file's name.
Result<std::vector<TensorEntry>> parse_safetensors_header(std::string_view json, std::uint64_t data_bytes);

}  // namespace volvox
