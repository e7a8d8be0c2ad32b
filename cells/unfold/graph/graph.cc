#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/text.h"
#include "cells/model/assembly.h"
#include "cells/model/model.h"
#include "cells/ops/ops.h"
#include "cells/unfold/graph/graph_plan.h"
#include "cells/unfold/unfolding.h"
#include "cells/unfold/wanted_rows.h"

namespace volvox {
namespace {

// The model's sequences and lengths of a request: of nodes, and, where not all of them answer, of those that
// do.
constexpr std::uint8_t kNodes = 0, kAnswers = 1;

// Over a graph that comes with the request (Cavs §3.1): nodes are cells of any of the model's types.
class GraphUnfolding final : public Unfolding {
 public:
  explicit GraphUnfolding(GraphPlan plan) : plan_(std::move(plan)) {}

  std::string_view takes(const Model&) const override { return "graph"; }
  std::string_view row_name() const override { return "node"; }
  std::string_view last_row_name() const override { return "of the last node"; }

  Status validate(const Model& model) const override {
    if (model.pools.size() != 1 || model.types.size() != plan_.types.size())
      return model_error(model, "a graph keeps the states of all its cells in one pool");
    for (CellTypeId type = 0; type < model.types.size(); ++type) {
      Status bound =
          check_bindings(model, type, plan_.pulls, plan_.pushes, "cell " + in_quotes(plan_.types[type].name));
      if (!bound) return bound;
    }
    return check_rows_alike(model, "a graph", "the last node's");
  }

  Result<Extent> check(const Structure& structure, const Model& model) const override {
    const auto* graph = std::get_if<GraphStructure>(&structure);
    if (graph == nullptr) return invalid("this model unfolds along a graph; send a graph of its cells");
    const std::size_t nodes = graph->type_of.size();
    if (nodes > model.max_length) {
      return invalid("the graph must have at most " + std::to_string(model.max_length) + " nodes, not " +
                     std::to_string(nodes));
    }
    if (Status sound = check_graph(plan_, *graph); !sound) return tl::unexpected(sound.error());
    Extent extent{.lengths = {static_cast<std::uint32_t>(nodes)}};
    if (model.sequences.size() > kAnswers) extent.lengths[kAnswers] = answers_of(plan_, *graph);
    const auto types = types_of(plan_, *graph);
    for (const std::int32_t type : graph->type_of)
      extent.read.push_back(plan_.types[(*types)[static_cast<std::size_t>(type)]].pulls);
    extent.host_bytes =
        nodes * GraphPlan::kBytesPerNode + graph->predecessors.size() * GraphPlan::kBytesPerEdge;
    return extent;
  }

  Result<std::shared_ptr<const NodeGraph>> nodes(const Structure& structure,
                                                 const ModelNumbers& numbers) const override {
    auto made = unfold_graph(plan_, std::get<GraphStructure>(structure), numbers.id, numbers.first_type,
                             numbers.first_pool);
    if (!made) return tl::unexpected(made.error());
    return std::make_shared<const NodeGraph>(std::move(*made));
  }
  std::span<const std::uint8_t> pulls() const override { return plan_.pulls; }
  std::span<const LanePush> pushes() const override { return plan_.pushes; }
  std::uint64_t cells(const Model&, const Lengths& lengths) const override { return lengths[kNodes]; }
  // Its nodes with a state at once; the scheduler finds the true number.
  std::uint64_t slots(const Model&, PoolId, const Lengths& lengths) const override { return lengths[kNodes]; }

  // From the structure alone, as a client means it.
  ReferenceOrder reference_order(const Structure& structure, const Model&) const override {
    const auto& graph = std::get<GraphStructure>(structure);
    const auto types = types_of(plan_, graph);
    ReferenceOrder order;
    std::uint32_t answers = 0;
    for (std::uint32_t v = 0; v < graph.type_of.size(); ++v) {
      ReferenceOrder::Node node;
      node.type = (*types)[static_cast<std::size_t>(graph.type_of[v])];
      node.row = v;
      node.answer_row = plan_.types[node.type].answers ? answers++ : 0;
      node.last = v + 1 == graph.type_of.size();
      node.pulls = plan_.pulls;
      node.pushes = plan_.pushes;
      node.first_listed = static_cast<std::uint32_t>(order.list.size());
      const std::uint32_t numbered = plan_.types[node.type].gathers;
      for (std::int32_t at = graph.offsets[v]; at < graph.offsets[v + 1]; ++at) {
        const auto from = static_cast<std::uint32_t>(graph.predecessors[static_cast<std::size_t>(at)]);
        const auto which = static_cast<std::uint32_t>(at - graph.offsets[v]);
        if (which < numbered) {
          node.gathers[which] = from;
        } else {
          order.list.push_back(from);
        }
      }
      node.listed = static_cast<std::uint32_t>(order.list.size()) - node.first_listed;
      order.nodes.push_back(node);
    }
    return order;
  }

 private:
  GraphPlan plan_;
};

class GraphAssembly {
 public:
  explicit GraphAssembly(Assembly& assembly)
      : assembly_(assembly), definition_(assembly.definition()), model_(assembly.model()) {}

  Status run() {
    if (definition_.cells.empty()) return assembly_.error(1, "cell: a graph needs at least one");
    if (model_.inputs.empty())
      return assembly_.error(1, "input: a graph needs at least one, whose rows are its nodes");
    if (!definition_.sequences.empty())
      return assembly_.error(definition_.sequences[0].line, "sequence: a graph has none, only nodes");
    if (Status ok = check_lanes(); !ok) return ok;
    model_.pools.emplace_back();
    written_.assign(model_.outputs.size(), false);
    for (const CellDefinition& cell : definition_.cells) {
      if (Status added = add_cells(cell); !added) return added;
    }
    note_readers();
    if (Status answered = assembly_.check_written(written_); !answered) return answered;
    number_answers();
    model_.unfolding = std::make_shared<const GraphUnfolding>(std::move(plan_));
    return {};
  }

 private:
  // They only say what a cell pulls and pushes: the client says who reads whom.
  Status check_lanes() const {
    for (const LaneDefinition& lane : definition_.lanes) {
      const auto is_of = [&](const auto& one) { return one.cell == lane.cell; };
      const auto& cells = definition_.cells;
      if (std::none_of(cells.begin(), cells.end(), [&](const auto& cell) { return cell.name == lane.cell; }))
        return assembly_.error(lane.line, "cell: there is no cell " + in_quotes(lane.cell));
      if (&*std::find_if(definition_.lanes.begin(), definition_.lanes.end(), is_of) != &lane)
        return assembly_.error(lane.line,
                               "lane: a cell of a graph has one, " + in_quotes(lane.cell) + " has more");
      if (!lane.from.empty() || !lane.initial.empty() || lane.reverse)
        return assembly_.error(
            lane.line,
            "lane: from, initial and reverse are of lanes; a graph's nodes come with each request");
    }
    return {};
  }

  Status add_cells(const CellDefinition& definition) {
    auto built = assembly_.library_cells(definition, "a graph", {"tree", "graph"});
    if (!built) return tl::unexpected(built.error());
    const auto lane = std::find_if(definition_.lanes.begin(), definition_.lanes.end(),
                                   [&](const LaneDefinition& one) { return one.cell == definition.name; });
    const LaneDefinition usual{.line = definition.line, .cell = definition.name};
    for (Cell& cell : *built) {
      if (Status added =
              add_cell(definition, lane == definition_.lanes.end() ? usual : *lane, std::move(cell));
          !added)
        return added;
    }
    return {};
  }

  Status add_cell(const CellDefinition& definition, const LaneDefinition& lane, Cell cell) {
    if (std::any_of(plan_.types.begin(), plan_.types.end(),
                    [&](const GraphPlan::Type& type) { return type.name == cell.name; }))
      return assembly_.error(definition.line, "cell: " + in_quotes(cell.name) + " comes twice");
    if (Status bound = bind(cell, lane); !bound) return bound;
    for (const StateKind& state : cell.states) {
      if (Status kept = keep(definition, state); !kept) return kept;
    }
    plan_.types.push_back({cell.name, cell.gathers, cell.gathers_all, cell.pulls > 0, cell.pushes > 0, {}});
    plan_.max_edges = std::min(plan_.max_edges, definition.max_edges);
    model_.types.push_back(assembly_.type_of(definition, std::move(cell)));
    return {};
  }

  // The cells' own numbers mean the same inputs and outputs, whichever cell it is. One that emits nothing has
  // no outputs.
  Status bind(const Cell& cell, const LaneDefinition& lane) {
    std::array<std::uint8_t, kMaxPulls> pulls{};
    if (Status ok = assembly_.map_pulls(cell, lane, pulls); !ok) return ok;
    if (cell.pulls > 0 && std::exchange(pulls_known_, true) && pulls != plan_.pulls)
      return assembly_.error(lane.line, "pull: all cells of a graph read the same inputs in the same order");
    if (cell.pulls > 0) plan_.pulls = pulls;
    return cell.pushes > 0 || !lane.push.empty() ? bind_outputs(cell, lane) : Status{};
  }
  Status bind_outputs(const Cell& cell, const LaneDefinition& lane) {
    std::array<LanePush, kMaxPushes> pushes{};
    std::vector<bool> written(model_.outputs.size(), false);
    Status ok = assembly_.map_pushes(cell, lane, pushes, written);
    if (ok) ok = assembly_.check_written(written);
    if (!ok) return ok;
    const auto same = [](const LanePush& a, const LanePush& b) { return a.output == b.output; };
    if (std::exchange(pushes_known_, true) &&
        !std::equal(pushes.begin(), pushes.end(), plan_.pushes.begin(), same))
      return assembly_.error(lane.line,
                             "push: all cells of a graph write the same outputs in the same order");
    plan_.pushes = pushes;
    written_ = std::move(written);
    return {};
  }

  // Where some cells emit nothing, rows of answers are other ones than nodes.
  void number_answers() {
    const bool all = std::all_of(plan_.types.begin(), plan_.types.end(),
                                 [](const GraphPlan::Type& type) { return type.answers; });
    if (all || model_.outputs.empty()) return;
    model_.sequences.push_back({.name = "answers", .max_length = model_.max_length});
    for (OutputSpec& output : model_.outputs) output.sequence = kAnswers;
  }

  // All cells keep their states in one pool: those of one name are one.
  Status keep(const CellDefinition& definition, const StateKind& state) {
    auto& kinds = model_.pools[0].kinds;
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const StateKind& kind) { return kind.name == state.name; });
    if (found == kinds.end()) {
      kinds.push_back(state);
    } else if (!(*found == state)) {
      return assembly_.error(definition.line, "cell: its state " + in_quotes(state.name) +
                                                  " is another than that of the cells before it");
    }
    return {};
  }

  void note_readers() {
    for (CellTypeId reader = 0; reader < plan_.types.size(); ++reader) {
      for (const CellTypeSpec& before : model_.types)
        plan_.types[reader].reads_after.push_back(has_all(before.cell, model_.types[reader].cell));
    }
  }
  static bool has_all(const Cell& before, const Cell& reader) {
    return std::all_of(reader.operators.begin(), reader.operators.end(), [&](const Operator& op) {
      if (!op.is(kGatherOp) && !op.is(kGatherAllOp)) return true;
      return std::any_of(before.states.begin(), before.states.end(),
                         [&](const StateKind& state) { return state.name == op.name; });
    });
  }

  Assembly& assembly_;
  const ModelDefinition& definition_;
  Model& model_;
  GraphPlan plan_;
  bool pulls_known_ = false, pushes_known_ = false;
  std::vector<bool> written_;  // by output: whether some cell emits it
};

Status build(Assembly& assembly) {
  return GraphAssembly(assembly).run();
}

}  // namespace

extern const UnfoldingKind kGraphUnfolding;
const UnfoldingKind kGraphUnfolding{"graph", build};

}  // namespace volvox
