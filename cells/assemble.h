#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "cells/model.h"
#include "cells/model_definition.h"

namespace volvox {

// How a model is made ready.
struct LoadOptions {
  std::uint32_t version = 0;  // 0: the newest
  bool eager = true;                // split cells into eager and core parts
  std::uint32_t eager_window = 32;  // steps by which an eager lane may run ahead of its core, at least 1
  std::uint32_t max_batch = 0;      // instead of the model's own, for every cell; 0: as it says
};

// Makes a model of its definition and weights: builds the library's cells, splits them, lays out pools, types
// and lanes, and checks the result. Version and digest are left to the caller. `file` stands in errors, which
// name the line that is wrong.
Result<Model> assemble(const ModelDefinition& definition, Weights weights, const LoadOptions& options,
                       std::string_view file);

}  // namespace volvox
