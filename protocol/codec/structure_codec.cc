#include "protocol/codec/structure_codec.h"

#include <string>
#include <utility>

#include <capnp/any.h>

#include "protocol/codec/capnp_message.h"
#include "protocol/codec/structure_check.h"
#include "protocol/codec/tensor_codec.h"

namespace volvox {
namespace {

using IntList = capnp::List<std::int32_t>;

// The list's elements in place. A list of wider elements would be legal Cap'n Proto, but has gaps.
Result<std::span<const std::int32_t>> read_ints(std::string_view what, IntList::Reader list) {
  if (list.size() == 0) return std::span<const std::int32_t>{};
  const capnp::AnyList::Reader any(list);
  if (any.getElementSize() != capnp::ElementSize::FOUR_BYTES) {
    return invalid(std::string(what) + " is not a plain list of 32-bit integers");
  }
  const auto* first = reinterpret_cast<const std::int32_t*>(any.getRawBytes().begin());
  return std::span<const std::int32_t>(first, list.size());
}

void write_ints(std::span<const std::int32_t> values, IntList::Builder list) {
  for (unsigned i = 0; i < values.size(); ++i) list.set(i, values[i]);
}

unsigned count(std::span<const std::int32_t> values) {
  return static_cast<unsigned>(values.size());
}

Result<Structure> read_tree(wire::Tree::Reader reader) {
  return read_ints("tree.parents", reader.getParents()).map([](auto parents) {
    return Structure(TreeStructure{parents});
  });
}

Result<Structure> read_lattice(wire::Lattice::Reader reader) {
  LatticeStructure lattice;
  lattice.length = reader.getLength();
  const auto starts = read_ints("lattice.starts", reader.getStarts());
  if (!starts) return tl::unexpected<Error>(starts.error());
  const auto ends = read_ints("lattice.ends", reader.getEnds());
  if (!ends) return tl::unexpected<Error>(ends.error());
  lattice.starts = *starts;
  lattice.ends = *ends;
  return lattice;
}

Result<Structure> read_sequences(wire::Sequences::Reader reader, const WireLimits& limits) {
  SequencesStructure sequences;
  auto names = read_names("sequence", reader.getNames(), limits.max_tensors, limits);
  if (!names) return tl::unexpected<Error>(std::move(names).error());
  sequences.names = std::move(*names);
  const auto lengths = read_ints("sequences.lengths", reader.getLengths());
  if (!lengths) return tl::unexpected<Error>(lengths.error());
  sequences.lengths = *lengths;
  return sequences;
}

Result<Structure> read_graph(wire::Graph::Reader reader, const WireLimits& limits) {
  GraphStructure graph;
  auto names = read_names("graph cell type", reader.getCellTypes(), limits.max_tensors, limits);
  if (!names) return tl::unexpected<Error>(std::move(names).error());
  graph.cell_types = std::move(*names);
  const auto types = read_ints("graph.typeOf", reader.getTypeOf());
  if (!types) return tl::unexpected<Error>(types.error());
  const auto offsets = read_ints("graph.predecessorOffsets", reader.getPredecessorOffsets());
  if (!offsets) return tl::unexpected<Error>(offsets.error());
  const auto predecessors = read_ints("graph.predecessors", reader.getPredecessors());
  if (!predecessors) return tl::unexpected<Error>(predecessors.error());
  graph.type_of = *types;
  graph.offsets = *offsets;
  graph.predecessors = *predecessors;
  return graph;
}

Result<Structure> read_any(wire::Structure::Reader reader, const WireLimits& limits) {
  switch (reader.which()) {
    case wire::Structure::UNSET:
      return Structure(NoStructure{});
    case wire::Structure::CHAIN:
      return Structure(ChainStructure{reader.getChain().getLength()});
    case wire::Structure::TREE:
      return read_tree(reader.getTree());
    case wire::Structure::LATTICE:
      return read_lattice(reader.getLattice());
    case wire::Structure::GRAPH:
      return read_graph(reader.getGraph(), limits);
    case wire::Structure::SEQUENCES:
      return read_sequences(reader.getSequences(), limits);
  }
  return invalid("structure " + std::to_string(static_cast<int>(reader.which())) + " is not known");
}

struct Write {
  wire::Structure::Builder builder;

  void operator()(const NoStructure&) { builder.setUnset(); }
  void operator()(const ChainStructure& chain) { builder.initChain().setLength(chain.length); }
  void operator()(const SequencesStructure& sequences) {
    auto target = builder.initSequences();
    write_names(sequences.names, target.initNames(static_cast<unsigned>(sequences.names.size())));
    write_ints(sequences.lengths, target.initLengths(count(sequences.lengths)));
  }
  void operator()(const TreeStructure& tree) {
    write_ints(tree.parents, builder.initTree().initParents(count(tree.parents)));
  }
  void operator()(const LatticeStructure& lattice) {
    auto target = builder.initLattice();
    target.setLength(lattice.length);
    write_ints(lattice.starts, target.initStarts(count(lattice.starts)));
    write_ints(lattice.ends, target.initEnds(count(lattice.ends)));
  }
  void operator()(const GraphStructure& graph) {
    auto target = builder.initGraph();
    write_names(graph.cell_types, target.initCellTypes(static_cast<unsigned>(graph.cell_types.size())));
    write_ints(graph.type_of, target.initTypeOf(count(graph.type_of)));
    write_ints(graph.offsets, target.initPredecessorOffsets(count(graph.offsets)));
    write_ints(graph.predecessors, target.initPredecessors(count(graph.predecessors)));
  }
};

// Words beyond the structure's own 8.
struct Words {
  static std::size_t of(std::span<const std::int32_t> values) { return data_words(values.size_bytes()); }

  std::size_t operator()(const NoStructure&) const { return 0; }
  std::size_t operator()(const ChainStructure&) const { return 0; }
  std::size_t operator()(const SequencesStructure& sequences) const {
    return names_words(sequences.names) + of(sequences.lengths);
  }
  std::size_t operator()(const TreeStructure& tree) const { return of(tree.parents); }
  std::size_t operator()(const LatticeStructure& lattice) const {
    return of(lattice.starts) + of(lattice.ends);
  }
  std::size_t operator()(const GraphStructure& graph) const {
    return names_words(graph.cell_types) + of(graph.type_of) + of(graph.offsets) + of(graph.predecessors);
  }
};

}  // namespace

Result<Structure> read_structure(wire::Structure::Reader reader, const WireLimits& limits) {
  auto structure = read_any(reader, limits);
  if (!structure) return structure;
  if (auto ok = check_structure(*structure, limits); !ok) return tl::unexpected<Error>(std::move(ok).error());
  return structure;
}

void write_structure(const Structure& structure, wire::Structure::Builder builder) {
  std::visit(Write{builder}, structure);
}

std::size_t structure_words(const Structure& structure) {
  return 8 + std::visit(Words{}, structure);
}

}  // namespace volvox
