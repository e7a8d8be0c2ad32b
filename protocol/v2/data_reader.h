#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "protocol/tensor.h"

namespace volvox {

// An input whose elements stand in the JSON: what is known of it, and the bytes that are read.
struct V2JsonTensor {
  std::string name;
  WireType type = WireType::kF32;
  WireShape shape;
  std::size_t elements = 0;      // of the shape
  bool binary = false;           // its elements do not stand in the JSON
  bool seen = false;             // its "data" was there
  std::vector<std::byte> bytes;  // what was read
};

// Reads the "data" of each input of the request in `text`, in their order, as elements of its type, row by
// row: a flat list, or lists nested as the shape says. `text` has passed parse_v2_document. Memory grows with
// the elements that are there, not with what a shape promises. INVALID_ARGUMENT names the input, the element
// and what is wrong: not a number, out of the type's range, too many, too few.
Status read_v2_data(std::string_view text, std::vector<V2JsonTensor>& inputs);

}  // namespace volvox
