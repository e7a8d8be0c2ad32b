#include "protocol/codec/structure_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/codec/capnp_message.h"
#include "protocol/codec/tensor_codec.h"

namespace volvox {
namespace {

Status check_size(std::string_view what, std::size_t size, std::size_t limit) {
  if (size == 0) return invalid(std::string(what) + " is 0; it must be at least 1");
  if (size <= limit) return {};
  return invalid(std::string(what) + " is " + std::to_string(size) + "; the limit is " +
                 std::to_string(limit));
}

std::string at(const char* array, std::size_t i, std::int64_t value) {
  return std::string(array) + "[" + std::to_string(i) + "] is " + std::to_string(value);
}

struct Check {
  const WireLimits& limits;

  Status operator()(const NoStructure&) const {
    return invalid("the body has no structure; set chain, sequences, tree, lattice or graph");
  }

  // A chain of no steps ends a session; no model runs one.
  Status operator()(const ChainStructure& chain) const {
    return check_size("chain.length", std::max(chain.length, 1U), limits.max_nodes);
  }

  Status operator()(const SequencesStructure& sequences) const {
    const std::size_t count = sequences.names.size();
    if (auto ok = check_names("sequence", sequences.names, limits.max_tensors, limits); !ok) return ok;
    if (count == 0) return invalid("there are no sequences; name at least one, with its length");
    if (count != sequences.lengths.size()) {
      return invalid("sequences.names has " + std::to_string(count) + " entries but sequences.lengths has " +
                     std::to_string(sequences.lengths.size()));
    }
    std::size_t steps = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (sequences.lengths[i] < 1)
        return invalid(at("sequences.lengths", i, sequences.lengths[i]) + "; it must be at least 1");
      if (std::find(sequences.names.begin(), sequences.names.begin() + static_cast<std::ptrdiff_t>(i),
                    sequences.names[i]) != sequences.names.begin() + static_cast<std::ptrdiff_t>(i))
        return invalid("the sequence '" + std::string(sequences.names[i]) + "' is given twice; give it once");
      steps += static_cast<std::size_t>(sequences.lengths[i]);
    }
    return check_size("the number of steps of all sequences", steps, limits.max_nodes);
  }

  Status operator()(const TreeStructure& tree) const {
    const std::size_t nodes = tree.parents.size();
    if (auto ok = check_size("the number of tree nodes", nodes, limits.max_nodes); !ok) return ok;
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::int64_t parent = tree.parents[node];
      const bool root = parent == -1;
      if (!root &&
          (parent <= static_cast<std::int64_t>(node) || parent >= static_cast<std::int64_t>(nodes))) {
        return invalid(at("tree.parents", node, parent) +
                       "; it must be -1 or the number of a later node, for children come before parents");
      }
    }
    return {};
  }

  Status operator()(const LatticeStructure& lattice) const {
    if (auto ok = check_size("lattice.length", lattice.length, limits.max_nodes); !ok) return ok;
    const std::size_t words = lattice.starts.size();
    if (words != lattice.ends.size()) {
      return invalid("lattice.starts has " + std::to_string(words) + " entries but lattice.ends has " +
                     std::to_string(lattice.ends.size()));
    }
    if (words > limits.max_edges) return check_size("the number of lattice words", words, limits.max_edges);
    for (std::size_t i = 0; i < words; ++i) {
      const std::int64_t start = lattice.starts[i], end = lattice.ends[i];
      if (start < 0 || start >= end || end > static_cast<std::int64_t>(lattice.length)) {
        return invalid("lattice word " + std::to_string(i) + " spans [" + std::to_string(start) + ", " +
                       std::to_string(end) + "), which is empty or outside of " +
                       std::to_string(lattice.length) + " characters");
      }
    }
    return {};
  }

  Status operator()(const GraphStructure& graph) const {
    const std::size_t nodes = graph.type_of.size();
    if (auto ok = check_size("the number of graph nodes", nodes, limits.max_nodes); !ok) return ok;
    if (auto ok = check_names("graph cell type", graph.cell_types, limits.max_tensors, limits); !ok)
      return ok;
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::int64_t type = graph.type_of[node];
      if (type < 0 || type >= static_cast<std::int64_t>(graph.cell_types.size())) {
        return invalid(at("graph.typeOf", node, type) + ", but there are " +
                       std::to_string(graph.cell_types.size()) + " cell types");
      }
    }
    return check_edges(graph);
  }

  Status check_edges(const GraphStructure& graph) const {
    const std::size_t nodes = graph.type_of.size(), edges = graph.predecessors.size();
    if (edges > limits.max_edges) return check_size("the number of graph edges", edges, limits.max_edges);
    if (graph.offsets.size() != nodes + 1 || graph.offsets.front() != 0 ||
        graph.offsets.back() != static_cast<std::int64_t>(edges)) {
      return invalid("graph.predecessorOffsets must have " + std::to_string(nodes + 1) +
                     " entries from 0 to " + std::to_string(edges));
    }
    for (std::size_t node = 0; node < nodes; ++node) {
      // Checked before it is used as an index: the offsets only grow, and end at `edges`.
      const std::int64_t first = graph.offsets[node], last = graph.offsets[node + 1];
      if (first > last || last > static_cast<std::int64_t>(edges)) {
        return invalid(at("graph.predecessorOffsets", node + 1, last) + "; offsets must not fall");
      }
      for (std::int64_t edge = first; edge < last; ++edge) {
        const std::int64_t from = graph.predecessors[static_cast<std::size_t>(edge)];
        if (from < 0 || from >= static_cast<std::int64_t>(node)) {
          return invalid(at("graph.predecessors", static_cast<std::size_t>(edge), from) + ", but node " +
                         std::to_string(node) + " can only follow nodes of smaller number");
        }
      }
    }
    return {};
  }
};

}  // namespace

Status check_structure(const Structure& structure, const WireLimits& limits) {
  return std::visit(Check{limits}, structure);
}

std::uint32_t nodes_in(const Structure& structure) {
  if (const auto* chain = std::get_if<ChainStructure>(&structure)) return chain->length;
  if (const auto* tree = std::get_if<TreeStructure>(&structure))
    return static_cast<std::uint32_t>(tree->parents.size());
  if (const auto* lattice = std::get_if<LatticeStructure>(&structure))
    return lattice->length + static_cast<std::uint32_t>(lattice->starts.size());
  if (const auto* sequences = std::get_if<SequencesStructure>(&structure)) {
    std::int64_t steps = 0;
    for (const std::int32_t length : sequences->lengths) steps += length;
    return static_cast<std::uint32_t>(steps);
  }
  const auto* graph = std::get_if<GraphStructure>(&structure);
  return graph == nullptr ? 0 : static_cast<std::uint32_t>(graph->type_of.size());
}

}  // namespace volvox
