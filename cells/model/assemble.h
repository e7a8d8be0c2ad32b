#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "cells/ir/fold.h"
#include "cells/model/model.h"
#include "cells/model/model_definition.h"

namespace volvox {

// The eager part saves reading weights: W is read once for many steps of a sequence, which is what a lightly
// loaded server spends its time on. It costs storing its results and reading them again. Weights that stay in
// a core's own cache (1 to 2 MiB on today's machines) cost little to read, and then it does not pay.
inline constexpr std::uint64_t kEagerFromBytes = 1U << 20;

// How a model is made ready.
struct LoadOptions {
  std::uint32_t version = 0;  // 0: the newest
  bool eager = true;          // split cells into eager and core parts …
  // … whose products have at least so many bytes of weights: see kEagerFromBytes.
  std::uint64_t eager_from_bytes = 0;
  std::uint32_t eager_window = 32;  // steps by which an eager lane may run ahead of its core, at least 1
  // Products of embeddings become tables (cells/ir/fold.h), computed by `fold_rows`, while those of the model
  // have at most so many bytes together; 0: none do.
  std::uint64_t fold_bytes = 0;
  FoldRows fold_rows = volvox::fold_rows;
  std::uint32_t max_batch = 0;  // instead of the model's own, for every cell; 0: as it says
};

// Makes a model of its definition and weights: builds the library's cells, splits them, lays out pools, types
// and lanes, and checks the result. Version and digest are left to the caller. `file` stands in errors, which
// name the line that is wrong.
Result<Model> assemble(const ModelDefinition& definition, Weights weights, const LoadOptions& options,
                       std::string_view file);

}  // namespace volvox
