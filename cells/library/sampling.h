#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// What a request's draws begin with: hands its input "seed", an i32, on as the state "seed". For a lane of
// one step, whose last state a sampling decoder reads.
Result<Cell> seed_cell(std::string_view name);

// lstm_decoder (lstm_decoder.h) that draws its token from the softmax of the `top_k` largest logits divided
// by the `temperature` (Fan et al., 2018, §5.2). Step t draws with number t of the request's seed
// (cells/ops/uniform.cc), so that a request that is run again, or in other company, says the same. Gather 0:
// h, c, token, and "steps", i32, how many were before; gather 1: "seed".
Result<Cell> lstm_sampling_decoder_cell(std::string_view name, const CellSizes& sizes,
                                        const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
