#include "cells/library/lstm.h"

#include "cells/ir/cell_builder.h"
#include "cells/library/cell_kind.h"
#include "cells/library/layers.h"
#include "cells/library/lstm_gates.h"

namespace volvox {
namespace {

// One step from x.
void add_lstm(CellBuilder& b, std::string_view name, ValueId x, std::int64_t hidden) {
  const auto [h, c] = lstm_step(b, name, x, hidden);
  b.scatter("h", h);
  b.scatter("c", c);
  b.push("h", h);
}

Result<std::vector<Cell>> build(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                std::string_view model) {
  return only(lstm_cell(name, sizes, weights, model));
}
template <std::uint32_t kLanes>
Result<std::vector<Cell>> build_layer(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                      std::string_view model) {
  return only(lstm_layer_cell(name, sizes, weights, model, kLanes));
}

constexpr CellKind kKinds[] = {{"lstm", "chain", true, build},
                               {"lstm_layer", "lanes", true, build_layer<1>},
                               {"lstm_layer_2", "lanes", true, build_layer<2>}};

}  // namespace

Result<Cell> lstm_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                       std::string_view model) {
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, sizes.hidden);
  const ValueId token = b.pull("token", DType::kI32);
  add_lstm(b, name, b.embed(token, std::string(name) + ".embedding", sizes.input), sizes.hidden);
  return b.build(weights, model);
}

Result<Cell> lstm_layer_cell(std::string_view name, const CellSizes& sizes, const Weights* weights,
                             std::string_view model, std::uint32_t lanes) {
  CellBuilder b{std::string(name)};
  declare_lstm_states(b, sizes.hidden);
  add_lstm(b, name, layer_input(b, lanes, sizes.input), sizes.hidden);
  return b.build(weights, model);
}

extern const std::span<const CellKind> kLstmCells;
const std::span<const CellKind> kLstmCells = kKinds;

}  // namespace volvox
