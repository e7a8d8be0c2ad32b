#include "import/onnx/graph_walk.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "import/onnx/known.h"

namespace volvox::onnx_import {
namespace {

// What an error calls a node: many have no name.
std::string named(const Node& node) {
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs.front();
  return "node " + in_quotes(name) + " (" + node.op + ")";
}

}  // namespace

bool GraphWalk::takes(const Node& node) const {
  return node.domain.empty() && (node.op == "If" || find_rule(node.op) != nullptr);
}

void GraphWalk::write(NodeCall& call, const Scope&) {
  find_rule(call.node.op)->write(call);
}

// All operators of a graph that are not there, so that nobody finds them one by one.
std::string GraphWalk::missing_of(const Graph& graph) const {
  std::set<std::string> missing;
  for (const Node& node : graph.nodes) {
    if (!takes(node)) missing.insert(node.domain.empty() ? node.op : node.domain + "." + node.op);
  }
  return listed(missing);
}

const Quantity* GraphWalk::Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->around) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

Status GraphWalk::run(const Graph& graph, Scope& scope) {
  for (const auto& [name, tensor] : graph.constants) scope.values[name] = known(tensor);
  for (const Node& one : graph.nodes) {
    try {
      if (!takes(one)) refuse("is not read; of this graph there are not: " + missing_of(graph));
      one.op == "If" ? branch(one, scope) : node(one, scope);
    } catch (const Refusal& refusal) {
      return invalid(named(one) + ": " + refusal.why);
    }
  }
  return {};
}

void GraphWalk::node(const Node& node, Scope& scope) {
  std::vector<std::optional<Quantity>> inputs;
  for (const std::string& name : node.inputs) {
    const Quantity* found = name.empty() ? nullptr : scope.find(name);
    if (found == nullptr && !name.empty())
      refuse("reads " + in_quotes(name) + ", which nothing before it makes, or not here");
    inputs.push_back(found == nullptr ? std::nullopt : std::optional(*found));
  }
  NodeCall call(writer_, node, opset_, std::move(inputs));
  writer_.name_weights(node.inputs.size() > 1 && !node.inputs[1].empty() ? node.inputs[1] : named(node));
  write(call, scope);
  if (call.all_known()) {
    ++folded_;
    count(call);
  } else {
    ++written_;
  }
  keep(node, call.outputs, scope);
}

// A small file can ask for large constants, again and again.
void GraphWalk::count(const NodeCall& call) {
  const auto of = [](const Quantity& one) {
    return one.is_known() ? static_cast<std::int64_t>(one.known->size()) : 0;
  };
  for (std::size_t i = 0; i < call.inputs(); ++i) touched_ += call.has(i) ? of(call.in(i)) : 0;
  for (const Quantity& made : call.outputs) made_ += call.inputs() > 0 ? of(made) : 0;
  if (touched_ + made_ > kMaxTouchedElements || made_ > kMaxMadeElements)
    refuse("more is to be computed beforehand than is allowed");
}

void GraphWalk::branch(const Node& node, Scope& scope) {
  const Quantity* condition = node.inputs.empty() ? nullptr : scope.find(node.inputs[0]);
  if (condition == nullptr || !condition->is_known() || condition->known->size() != 1)
    refuse(
        "its condition depends on what the model is given; give constants with --set, shapes with --shape");
  const bool taken = as_integer(condition->known)->integers[0] != 0;
  const NodeAttribute* chosen = node.find(taken ? "then_branch" : "else_branch");
  if (chosen == nullptr || chosen->graph == nullptr) refuse("has no such branch");
  Scope inner{.around = &scope};
  if (Status status = run(*chosen->graph, inner); !status) refuse(status.error().message);
  std::vector<Quantity> outputs;
  for (const std::string& name : chosen->graph->outputs) {
    const Quantity* made = inner.find(name);
    if (made == nullptr) refuse("nothing makes " + in_quotes(name));
    outputs.push_back(*made);
  }
  ++branches_;
  keep(node, outputs, scope);
}

void GraphWalk::keep(const Node& node, const std::vector<Quantity>& outputs, Scope& scope) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i >= outputs.size()) return;  // whoever reads it is refused
    if (!scope.values.try_emplace(node.outputs[i], outputs[i]).second)
      refuse("makes " + in_quotes(node.outputs[i]) + ", which is there already");
  }
}

}  // namespace volvox::onnx_import
