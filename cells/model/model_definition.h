#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/types.h"

namespace volvox {

struct Cell;
struct CellSizes;

// The kind of a cell that no library has: the model brings it along (repository/cell_file.h).
inline constexpr std::string_view kFileCell = "file";

// What model.toml says, as it stands there (docs/models.md). `line` is where, for later errors.
struct CellDefinition {
  std::uint32_t line = 0;
  std::string name{};
  std::string kind{};                   // of the library (cells/library/), or kFileCell …
  std::shared_ptr<const Cell> given{};  // … which is then this one, not inferred yet
  std::int64_t input = 0, hidden = 0;
  std::int64_t start = 0;  // the token that a decoder reads first
  std::int64_t top_k = 1;  // of a sampling decoder, as are the …
  double temperature = 1;
  std::int64_t beams = 4;  // of a beam search, as are …
  double length_penalty = 0;
  std::int64_t end = 0;
  std::int64_t symbols = 3;  // of a transducer
  std::int64_t priority = 0;
  std::uint32_t min_batch = 1, max_batch = 64, max_edges = 1U << 16;
};

// What a cell of the library is told of it; `outputs` is what the weights say.
CellSizes sizes_of(const CellDefinition& definition);

struct LaneDefinition {
  std::uint32_t line = 0;
  std::string name{};  // for other lanes' `from`; empty: the cell's
  std::string cell{};
  // What the cell reads of other lanes, in its order: "NAME" is the same step of a lane before this one,
  // "NAME:last" its last, "NAME:all" all of them, and "NAME:before" the step before of any lane.
  std::vector<std::string> from{};
  std::string initial{};  // the lane from whose last state this one goes on; empty: the initial state
  std::string over{};     // the sequence whose steps these are, or an input of it; empty: the first input's
  bool reverse = false;   // from the sequence's end to its beginning
  std::vector<std::string> pull{};  // inputs by the cell's own numbers; empty: `over` for all
  // Outputs by the cell's own numbers; empty: in their order where the lane is the only one, else none.
  std::vector<std::string> push{};
};

struct SequenceDefinition {
  std::uint32_t line = 0;
  std::string name{};
  std::uint32_t max_length = 0;  // 0: as the model's
  std::string until{};           // the output that ends it, with the step at which it has the value …
  std::int64_t equals = 0;       // … of this; empty: requests say how long it is
  bool once = false;             // one step, whatever the request is
};

struct InputDefinition {
  std::uint32_t line = 0;
  std::string name{};
  std::string sequence{};  // whose steps its rows are; empty: the one of all inputs that name none
  DType dtype = DType::kI32;
  Shape shape{};  // of a row; of an input with a window, of one of its samples
  std::int64_t vocabulary = 0;
  // What a cell sees of it: so many samples, of which each row brings the last `hop`, and those before are of
  // earlier steps (cells/ir/window.h). Both 0: the row.
  std::int64_t window = 0, hop = 0;
};

struct OutputDefinition {
  std::uint32_t line = 0;
  std::string name{};
  std::optional<DType> dtype{};  // as the cell emits it, unless said
  std::optional<Shape> shape{};
  bool every = false;
  bool path = false;        // of the candidates that a lane emits at each step, the best way to the last one
  std::uint32_t fewer = 0;  // the last so many steps have no row; only with `every`
};

struct ModelDefinition {
  std::string name{};
  std::string unfolding = "chain";
  std::uint32_t min_length = 1, max_length = 4096;
  std::vector<CellDefinition> cells{};
  std::vector<LaneDefinition> lanes{};
  std::vector<SequenceDefinition> sequences{};
  std::vector<InputDefinition> inputs{};
  std::vector<OutputDefinition> outputs{};
};

// Whether a model or cell may have this name: 1 to 64 letters, digits, '_', '-' and '.', beginning with a
// letter or digit.
bool is_valid_name(std::string_view name);

}  // namespace volvox
