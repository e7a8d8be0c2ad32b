#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/types.h"

namespace volvox {

// What model.toml says, as it stands there (docs/models.md). `line` is where, for later errors.
struct CellDefinition {
  std::uint32_t line = 0;
  std::string name{};
  std::string kind{};  // of the library (cells/library/)
  std::int64_t input = 0, hidden = 0;
  std::int64_t priority = 0;
  std::uint32_t min_batch = 1, max_batch = 64, max_edges = 1U << 16;
};

struct LaneDefinition {
  std::uint32_t line = 0;
  std::string name{};  // for other lanes' `from`; empty: the cell's
  std::string cell{};
  std::vector<std::string> from{};  // lanes before this one whose same step the cell reads, in its order
  std::string over{};               // the input whose rows are the steps; empty: the first input
  std::vector<std::string> pull{};  // inputs by the cell's own numbers; empty: `over` for all
  // Outputs by the cell's own numbers; empty: in their order where the lane is the only one, else none.
  std::vector<std::string> push{};
};

struct InputDefinition {
  std::uint32_t line = 0;
  std::string name{};
  DType dtype = DType::kI32;
  Shape shape{};
  std::int64_t vocabulary = 0;
};

struct OutputDefinition {
  std::uint32_t line = 0;
  std::string name{};
  std::optional<DType> dtype{};  // as the cell emits it, unless said
  std::optional<Shape> shape{};
  bool every = false;
};

struct ModelDefinition {
  std::string name{};
  std::string unfolding = "chain";
  std::uint32_t max_length = 4096;
  std::vector<CellDefinition> cells{};
  std::vector<LaneDefinition> lanes{};
  std::vector<InputDefinition> inputs{};
  std::vector<OutputDefinition> outputs{};
};

// Whether a model or cell may have this name: 1 to 64 letters, digits, '_', '-' and '.', beginning with a
// letter or digit.
bool is_valid_name(std::string_view name);

}  // namespace volvox
