#include "repository/kinds/definitions.h"

namespace volvox {
namespace {

CellDefinition plain_cell(const std::string& name, const std::string& kind) {
  return {.name = name, .kind = kind, .max_batch = 512};
}

ModelDefinition noop(const NewSizes& sizes, bool) {
  ModelDefinition definition = one_lane(plain_cell("noop", "noop"), sizes, "", false);
  definition.outputs.clear();
  return definition;
}
ModelDefinition check(const NewSizes& sizes, bool every) {
  return one_lane(plain_cell("check", "check"), sizes, "state", every);
}
ModelDefinition check_tree(const NewSizes& sizes, bool every) {
  ModelDefinition definition = one_lane(plain_cell("tree", "check_tree"), sizes, "state", every);
  definition.unfolding = "tree";
  return definition;
}
ModelDefinition check_graph(const NewSizes& sizes, bool every) {
  ModelDefinition definition = check_tree(sizes, every);
  definition.unfolding = "graph";
  return definition;
}

constexpr ModelKind kKinds[] = {
    {"noop", "nothing: the way there and back", 0, false, 0, noop},
    {"check", "an answer that shows any lost, doubled or mixed-up step", 0, true, 0, check},
    {"check_tree", "the same over any trees", 0, true, 0, check_tree},
    {"check_graph", "the same over graphs", 0, true, 0, check_graph}};

}  // namespace

extern const std::span<const ModelKind> kChecksModels;
const std::span<const ModelKind> kChecksModels = kKinds;

}  // namespace volvox
