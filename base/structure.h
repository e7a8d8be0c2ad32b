#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace volvox {

// The shape of a request, from which the server unfolds its cell graph. None of these owns its arrays: they
// lie in a decoded body's buffer, or in the sender's vectors.

// No structure was given; only a body without a request's meaning has none.
struct NoStructure {
  bool operator==(const NoStructure&) const = default;
};

// A sequence of `length` steps.
struct ChainStructure {
  std::uint32_t length = 0;
  bool operator==(const ChainStructure&) const = default;
};

// Sequences by the names that the model gives them, lengths[i] steps in names[i]. One that the model ends by
// itself may be left out; its length is then the most steps that the model allows.
struct SequencesStructure {
  std::vector<std::string_view> names;
  std::span<const std::int32_t> lengths;
};

// parents[node] is the node's parent, −1 for a root. A node's number is smaller than its parent's; siblings
// are ordered by number, left to right.
struct TreeStructure {
  std::span<const std::int32_t> parents;
};

// A chain of `length` characters, and words i over [starts[i], ends[i]) of it.
struct LatticeStructure {
  std::uint32_t length = 0;
  std::span<const std::int32_t> starts;
  std::span<const std::int32_t> ends;
};

// Any directed acyclic graph. type_of[node] counts in cell_types; node i's predecessors, all of smaller
// number, are predecessors[offsets[i] .. offsets[i + 1]); offsets has one entry more than there are nodes.
struct GraphStructure {
  std::vector<std::string_view> cell_types;
  std::span<const std::int32_t> type_of;
  std::span<const std::int32_t> offsets;
  std::span<const std::int32_t> predecessors;
};

using Structure = std::variant<NoStructure, ChainStructure, TreeStructure, LatticeStructure, GraphStructure,
                               SequencesStructure>;

// How large a request of this shape is, in a word: steps of a chain, or of the longest sequence; leaves of a
// tree, nodes of a graph that nothing precedes; characters of a lattice. 0 without a structure.
std::uint32_t size_of(const Structure& structure);

}  // namespace volvox
