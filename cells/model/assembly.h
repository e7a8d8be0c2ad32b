#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/model/assemble.h"
#include "cells/model/model.h"
#include "cells/model/model_definition.h"

namespace volvox {

// A model under construction, for the unfolding that builds its types, pools and plan (UnfoldingKind::build).
// Inputs and outputs are in the model already; what cells read and write is matched with them here. Errors
// name the file and the line.
class Assembly {
 public:
  Assembly(const ModelDefinition& definition, Weights weights, const LoadOptions& options,
           std::string_view file);

  const ModelDefinition& definition() const { return definition_; }
  const LoadOptions& options() const { return options_; }
  Model& model() { return model_; }
  tl::unexpected<Error> error(std::uint32_t line, const std::string& why) const;

  // For unfoldings over one cell of the library: it, built (of some kinds it is two cells), and its lane.
  struct OnlyCell {
    const CellDefinition* cell = nullptr;
    LaneDefinition lane{};
    std::vector<Cell> built{};
  };
  // `unfolding` is its name, `rows` what the inputs' rows are, for errors: "steps".
  Result<OnlyCell> only_cell(std::string_view unfolding, std::string_view rows);

  // The type of a cell that the definition asks for: its limits and its priority.
  CellTypeSpec type_of(const CellDefinition& definition, Cell cell) const;
  // What the library builds for the cell, if that is for one of these unfoldings: `whose`, in errors, is
  // "a chain". A cell that the model brings along will do wherever one of a chain does. Folded, as far as the
  // options allow.
  Result<std::vector<Cell>> library_cells(const CellDefinition& cell, std::string_view whose,
                                          std::initializer_list<std::string_view> unfoldings);
  // The cell as its lanes run it: over the windows of the inputs that they give it (cells/ir/window.h).
  Result<Cell> over_windows(const CellDefinition& definition, Cell cell);
  // Whose steps the lane's are: by number in Model::sequences.
  Result<std::uint8_t> sequence_of(const LaneDefinition& lane) const;
  // Which input each pull of the cell reads; the definition says it by names, or leaves it to the order.
  Status map_pulls(const Cell& cell, const LaneDefinition& lane, std::array<std::uint8_t, kMaxPulls>& pulls);
  // Which output each push writes: those that the lane names. One that names none writes the outputs in their
  // order where it is the only one, and nothing beside others. `written`, by output, tells what has been
  // written before; then none may be missing.
  Status map_pushes(const Cell& cell, const LaneDefinition& lane, std::array<LanePush, kMaxPushes>& pushes,
                    std::vector<bool>& written);
  Status check_all_read() const;
  Status check_written(const std::vector<bool>& written) const;

  Result<Model> run();

 private:
  using Pulls = std::array<std::uint8_t, kMaxPulls>;
  Result<Pulls> pulled_inputs(const Cell& cell, const LaneDefinition& lane) const;
  Status read_sequences();
  Result<std::vector<Cell>> given_cell(const CellDefinition& cell) const;
  std::optional<std::uint8_t> usual_input(const LaneDefinition& lane, std::uint8_t sequence) const;
  Status read_inputs();
  Status check_window(const InputDefinition& input) const;
  Status check_windows_used() const;
  Status check_paths() const;
  Status read_outputs();
  Result<std::vector<Cell>> built_cells(const CellDefinition& cell, std::string_view whose,
                                        std::initializer_list<std::string_view> unfoldings) const;
  Result<Cell> fold(Cell cell);
  Status add_table(const FoldedTable& table);
  Status match_input(const Cell& cell, const Operator& pull, std::uint8_t input);
  Status match_output(const Value& emitted, std::uint8_t output);

  const ModelDefinition& definition_;
  const LoadOptions& options_;
  std::string_view file_;
  Model model_;
  std::set<std::string> read_;               // weights that some cell reads, or read before it was folded
  std::array<bool, kMaxInputs> windowed_{};  // inputs whose windows some cell sees
};

}  // namespace volvox
