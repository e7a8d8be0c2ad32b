#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// A small convolutional net: scores of an image x, f32 [channels, input, input], that knows nothing of the
// rows before. Kernels are of 3×3 elements, with zeros around the image; pools take windows of 3×3, of which
// every second in each direction, and no element outside.
//   a = max_pool(relu(first_bias + first∗x));  b = average_pool(relu(second_bias + second∗a))
//   scores = output_bias + output·relu(bias + weight·b)
// No states; emits "scores", one for each label. Weights: first [kernels, channels, 3, 3], second [kernels,
// kernels of first, 3, 3], weight [hidden, kernels of second · elements of its pool], output [labels,
// hidden], and a bias of each. How many channels and kernels there are is as the weights say; without any, 1,
// 8 and 16.
Result<Cell> cnn_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                      std::string_view model = {});

}  // namespace volvox
