#include "cells/unfold/tree/tree.h"

#include <string>
#include <utility>
#include <variant>

#include "cells/model/assembly.h"
#include "cells/model/model.h"
#include "cells/unfold/wanted_rows.h"

namespace volvox {
namespace {

// What the nodes of one kind read of their children is what the plan says.
bool fits_node(const TreePlan& plan, const Cell& cell, bool inner) {
  const std::uint32_t gathers = plan.binary && inner ? 2 : 0;
  const bool pulls = !inner || plan.inner_pulls;
  return cell.gathers == gathers && (!plan.binary || !cell.gathers_all) && (pulls || cell.pulls == 0) &&
         !cell.states.empty();
}

// A tree's cells are not split: an eager part would keep its states in a pool of its own. Leaves come first,
// and yield to inner nodes, which are closer to an answer.
Status build(Assembly& assembly) {
  auto only = assembly.only_cell("tree", "nodes");
  if (!only) return tl::unexpected(only.error());
  std::vector<Cell>& cells = only->built;
  Model& model = assembly.model();
  TreePlan tree;
  if (Status ok = assembly.map_pulls(cells.front(), only->lane, tree.pulls); !ok) return ok;
  for (const Cell& cell : cells) {
    std::vector<bool> written(model.outputs.size(), false);
    Status ok = assembly.map_pushes(cell, only->lane, tree.pushes, written);
    if (ok) ok = assembly.check_written(written);
    if (!ok) return ok;
  }
  tree.binary = cells.size() == 2;
  tree.inner = tree.binary ? 1 : 0;
  tree.inner_pulls = cells.back().pulls > 0;
  tree.max_children = only->cell->max_edges;
  model.pools.push_back({cells.front().states});
  for (Cell& cell : cells) model.types.push_back(assembly.type_of(*only->cell, std::move(cell)));
  if (tree.binary) --model.types.front().priority;
  model.unfolding = std::make_shared<const TreeUnfolding>(tree);
  return {};
}

}  // namespace

Status TreeUnfolding::validate(const Model& model) const {
  if (model.pools.size() != 1) return model_error(model, "a tree keeps its states in one pool");
  if (!plan_.binary && plan_.leaf != plan_.inner)
    return model_error(model, "leaves read a list as inner nodes do");
  for (const bool inner : {false, true}) {
    const CellTypeId type = inner ? plan_.inner : plan_.leaf;
    const std::string whose = inner ? "inner nodes" : "leaves";
    if (type >= model.types.size()) return model_error(model, whose + ": their cell does not exist");
    if (!fits_node(plan_, model.types[type].cell, inner))
      return model_error(model, whose + ": their cell reads what the tree does not give");
    Status bound = check_bindings(model, type, plan_.pulls, plan_.pushes, whose);
    if (!bound) return bound;
  }
  return check_rows_alike(model, "a tree", "the root's");
}

Result<Extent> TreeUnfolding::check(const Structure& structure, const Model& model) const {
  const auto* tree = std::get_if<TreeStructure>(&structure);
  if (tree == nullptr) return invalid("this model unfolds along a tree; send a tree with each node's parent");
  if (tree->parents.size() > model.max_length) {
    return invalid("the tree must have at most " + std::to_string(model.max_length) + " nodes, not " +
                   std::to_string(tree->parents.size()));
  }
  if (Status sound = check_tree(plan_, tree->parents); !sound) return tl::unexpected(sound.error());
  Extent extent{.lengths = {static_cast<std::uint32_t>(tree->parents.size())}};
  if (!plan_.inner_pulls) extent.read = leaves_of(tree->parents);
  extent.host_bytes = tree->parents.size() * TreePlan::kBytesPerNode;
  return extent;
}

Result<std::shared_ptr<const NodeGraph>> TreeUnfolding::nodes(const Structure& structure,
                                                              const ModelNumbers& numbers) const {
  TreePlan plan = plan_;
  plan.model = numbers.id;
  plan.pool += numbers.first_pool;
  plan.leaf += numbers.first_type;
  plan.inner += numbers.first_type;
  auto graph = unfold_tree(plan, std::get<TreeStructure>(structure).parents);
  if (!graph) return tl::unexpected(graph.error());
  return std::make_shared<const NodeGraph>(std::move(*graph));
}

// Nodes come after their children: their own order will do.
ReferenceOrder TreeUnfolding::reference_order(const Structure& structure, const Model&) const {
  const auto parents = std::get<TreeStructure>(structure).parents;
  std::vector<std::vector<std::uint32_t>> children(parents.size());
  for (std::uint32_t node = 0; node + 1 < parents.size(); ++node)
    children[static_cast<std::size_t>(parents[node])].push_back(node);
  ReferenceOrder order;
  for (std::uint32_t v = 0; v < parents.size(); ++v) {
    ReferenceOrder::Node node;
    node.type = children[v].empty() ? plan_.leaf : plan_.inner;
    node.row = node.answer_row = v;
    node.last = v + 1 == parents.size();
    node.pulls = plan_.pulls;
    node.pushes = plan_.pushes;
    if (plan_.binary) {
      for (std::size_t c = 0; c < children[v].size(); ++c) node.gathers[c] = children[v][c];
    } else {
      node.first_listed = static_cast<std::uint32_t>(order.list.size());
      node.listed = static_cast<std::uint32_t>(children[v].size());
      order.list.insert(order.list.end(), children[v].begin(), children[v].end());
    }
    order.nodes.push_back(node);
  }
  return order;
}

extern const UnfoldingKind kTreeUnfolding;
const UnfoldingKind kTreeUnfolding{"tree", build};

}  // namespace volvox
