#include "cells/reference.h"
#include "cells/reference_parts.h"

namespace volvox {

// Nodes come after their children, so one pass over them in their order is enough.
struct Reference::TreeRun {
  std::span<const std::span<const std::byte>> inputs;
  std::vector<std::vector<std::uint32_t>> children;  // of each node, in order
  std::vector<std::size_t> row_bytes;                // for each state of the pool
  std::vector<std::vector<std::byte>> states;        // for each state of the pool: a row for each node
  std::vector<std::vector<std::byte>> initial;       // likewise: the initial value
  std::vector<ReferenceOutput> outputs;

  std::byte* row(std::size_t state, std::uint32_t node) {
    return states[state].data() + node * row_bytes[state];
  }
};

// One node, and where it finds everything.
struct Reference::TreeRow {
  const Cell* cell = nullptr;
  std::vector<const void*> gathers, ragged;
  std::vector<void*> scatters;
  CellRow row;
};

void Reference::begin(TreeRun& run, std::span<const std::int32_t> parents) const {
  run.children.resize(parents.size());
  for (std::uint32_t node = 0; node + 1 < parents.size(); ++node) {
    run.children[static_cast<std::size_t>(parents[node])].push_back(node);
  }
  for (const StateKind& state : model_->pools[0].kinds) {
    run.row_bytes.push_back(kept_bytes(state.dtype, state.shape));
    run.states.emplace_back(run.row_bytes.back() * parents.size());
    run.initial.push_back(initial_row(state.dtype, state.shape, state.initial));
  }
  run.outputs = make_outputs(*model_, static_cast<std::uint32_t>(parents.size()));
}

// What the node reads of its children: a missing one is the initial value.
void Reference::bind_children(TreeRun& run, std::uint32_t node, TreeRow& bound) const {
  const std::vector<std::uint32_t>& children = run.children[node];
  for (const Operator& op : bound.cell->operators) {
    const std::size_t state = state_number(model_->pools[0].kinds, op.name);
    if (op.kind == OpKind::kGather) {
      const bool there = op.index < children.size();
      bound.gathers.push_back(there ? run.row(state, children[op.index]) : run.initial[state].data());
    }
    if (op.kind != OpKind::kGatherAll) continue;
    for (const std::uint32_t child : children) bound.ragged.push_back(run.row(state, child));
  }
  for (const StateKind& state : bound.cell->states)
    bound.scatters.push_back(run.row(state_number(model_->pools[0].kinds, state.name), node));
  bound.row.edges = bound.cell->gathers_all ? static_cast<std::uint32_t>(children.size()) : 0;
  bound.row.gathers = bound.gathers;
  bound.row.ragged = bound.ragged;
  bound.row.scatters = bound.scatters;
}

// What it reads of the request, and what it answers.
void Reference::bind_request(TreeRun& run, std::uint32_t node, TreeRow& bound) const {
  const bool root = node + 1 == run.children.size();
  for (const Operator& op : bound.cell->operators) {
    if (op.kind == OpKind::kPull) {
      const std::uint8_t number = model_->tree.pulls[op.index];
      const InputSpec& input = model_->inputs[number];
      const std::size_t bytes = static_cast<std::size_t>(elements(input.shape)) * size_bytes(input.dtype);
      bound.row.pulls[op.index] = run.inputs[number].data() + node * bytes;
    }
    if (op.kind != OpKind::kPush) continue;
    const LanePush& push = model_->tree.pushes[op.index];
    if (push.output == LanePush::kNowhere || (!push.every && !root)) continue;
    bound.row.pushes[op.index] =
        row_of(run.outputs[push.output], model_->outputs[push.output], push.every ? node : 0);
  }
}

void Reference::run_node(TreeRun& run, std::uint32_t node) {
  const CellTypeId type = run.children[node].empty() ? model_->tree.leaf : model_->tree.inner;
  TreeRow bound;
  bound.cell = &programs_[type]->cell();
  bind_children(run, node, bound);
  bind_request(run, node, bound);
  evaluators_[type].run(bound.row);
}

Result<std::vector<ReferenceOutput>> Reference::run_tree(std::span<const std::span<const std::byte>> inputs,
                                                         std::span<const std::int32_t> parents) {
  if (Status sound = check_tree(model_->tree, parents); !sound) return tl::unexpected(sound.error());
  const bool all_read = model_->tree.inner_pulls;
  const Result<std::uint32_t> nodes =
      check_inputs(inputs, all_read ? std::vector<bool>{} : leaves_of(parents));
  if (!nodes) return tl::unexpected(nodes.error());
  if (*nodes != parents.size()) {
    return invalid("the tree has " + std::to_string(parents.size()) + " nodes, the inputs have " +
                   std::to_string(*nodes) + " rows; there must be a row for each node");
  }
  TreeRun run;
  run.inputs = inputs;
  begin(run, parents);
  for (std::uint32_t node = 0; node < parents.size(); ++node) run_node(run, node);
  return std::move(run.outputs);
}

}  // namespace volvox
