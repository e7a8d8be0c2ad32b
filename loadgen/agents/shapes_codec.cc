#include "loadgen/agents/shapes_codec.h"

#include <algorithm>
#include <span>

#include "protocol/codec/capnp_message.h"
#include "protocol/text.h"

namespace volvox {
namespace {

using Shapes = RequestSource::Shapes;

constexpr std::size_t kRoomWords = 16;  // of a shape without its lists

template <class List, class Values>
void put_list(const Values& values, List list) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, values[i]);
}

template <class Value, class Reader>
std::vector<Value> read_list(Reader list) {
  std::vector<Value> values;
  values.reserve(list.size());
  for (const auto value : list) values.push_back(static_cast<Value>(value));
  return values;
}

std::string read_description(capnp::Text::Reader text) {
  return cleaned_text(view_of(text), kMaxErrorTextBytes);
}

// Ranges of one list, one after the other, as offsets that begin with 0.
class Ranges {
 public:
  static Result<Ranges> read(capnp::List<std::uint32_t>::Reader offsets, std::size_t whole) {
    Ranges ranges;
    ranges.offsets_ = read_list<std::uint32_t>(offsets);
    const bool none = ranges.offsets_.empty() && whole == 0;
    const bool fits = none || (!ranges.offsets_.empty() && ranges.offsets_.front() == 0 &&
                               ranges.offsets_.back() == whole && std::ranges::is_sorted(ranges.offsets_));
    if (!fits) return invalid("offsets ascend from 0 to the length of what they divide");
    return ranges;
  }

  std::size_t size() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
  template <class Value>
  std::vector<Value> of(const std::vector<Value>& whole, std::size_t i) const {
    return {whole.begin() + offsets_[i], whole.begin() + offsets_[i + 1]};
  }

 private:
  std::vector<std::uint32_t> offsets_;
};

void write(const LengthSource& lengths, wire::LoadLengths::Builder builder) {
  put_list(lengths.table(), builder.initTable(static_cast<unsigned>(lengths.table().size())));
  put_text(lengths.description(), [&](unsigned size) { return builder.initDescription(size); });
}

Result<LengthSource> read(wire::LoadLengths::Reader reader) {
  return LengthSource::from_table(read_list<std::uint32_t>(reader.getTable()),
                                  read_description(reader.getDescription()));
}

void write(const TreeSource& source, wire::LoadTrees::Builder builder) {
  std::size_t nodes = 0;
  for (const auto& tree : source.trees()) nodes += tree.size();
  auto offsets = builder.initOffsets(static_cast<unsigned>(source.trees().size() + 1));
  auto parents = builder.initParents(static_cast<unsigned>(nodes));
  unsigned at = 0;
  for (unsigned i = 0; i < source.trees().size(); ++i) {
    for (const std::int32_t parent : source.trees()[i]) parents.set(at++, parent);
    offsets.set(i + 1, at);
  }
  write(source.leaves(), builder.initLeaves());
  builder.setMostChildren(source.most_children());
  put_text(source.description(), [&](unsigned size) { return builder.initDescription(size); });
}

Result<TreeSource> read(wire::LoadTrees::Reader reader) {
  const auto parents = read_list<std::int32_t>(reader.getParents());
  auto ranges = Ranges::read(reader.getOffsets(), parents.size());
  if (!ranges) return tl::unexpected(ranges.error());
  auto leaves = read(reader.getLeaves());
  if (!leaves) return tl::unexpected(leaves.error());
  std::vector<std::vector<std::int32_t>> trees;
  for (std::size_t i = 0; i < ranges->size(); ++i) trees.push_back(ranges->of(parents, i));
  return TreeSource::from_table(std::move(trees), std::move(*leaves), reader.getMostChildren(),
                                read_description(reader.getDescription()));
}

void write(const LatticeSource& source, wire::LoadLattices::Builder builder) {
  const auto& lattices = source.lattices();
  std::size_t words = 0;
  for (const LatticeShape& lattice : lattices) words += lattice.starts.size();
  auto characters = builder.initCharacters(static_cast<unsigned>(lattices.size()));
  auto offsets = builder.initOffsets(static_cast<unsigned>(lattices.size() + 1));
  auto starts = builder.initStarts(static_cast<unsigned>(words));
  auto ends = builder.initEnds(static_cast<unsigned>(words));
  unsigned at = 0;
  for (unsigned i = 0; i < lattices.size(); ++i) {
    characters.set(i, lattices[i].length);
    for (std::size_t word = 0; word < lattices[i].starts.size(); ++word, ++at) {
      starts.set(at, lattices[i].starts[word]);
      ends.set(at, lattices[i].ends[word]);
    }
    offsets.set(i + 1, at);
  }
  write(source.lengths(), builder.initLengths());
  put_text(source.description(), [&](unsigned size) { return builder.initDescription(size); });
}

Result<LatticeSource> read(wire::LoadLattices::Reader reader) {
  const auto starts = read_list<std::int32_t>(reader.getStarts());
  const auto ends = read_list<std::int32_t>(reader.getEnds());
  auto ranges = Ranges::read(reader.getOffsets(), starts.size());
  if (!ranges) return tl::unexpected(ranges.error());
  const auto characters = reader.getCharacters();
  if (characters.size() != ranges->size() || ends.size() != starts.size())
    return invalid("each lattice has a number of characters, and each word a start and an end");
  auto lengths = read(reader.getLengths());
  if (!lengths) return tl::unexpected(lengths.error());
  std::vector<LatticeShape> lattices;
  for (unsigned i = 0; i < characters.size(); ++i)
    lattices.push_back({characters[i], ranges->of(starts, i), ranges->of(ends, i)});
  return LatticeSource::from_table(std::move(lattices), std::move(*lengths),
                                   read_description(reader.getDescription()));
}

void write(const GraphSource& source, wire::LoadGraphs::Builder builder) {
  write(source.trees(), builder.initTrees());
  auto types = builder.initTypes(static_cast<unsigned>(source.types().size()));
  for (unsigned i = 0; i < types.size(); ++i) {
    const GraphCellType& type = source.types()[i];
    put_text(type.name, [&](unsigned size) { return types[i].initName(size); });
    types[i].setIsLeaf(type.is_leaf);
    types[i].setIsInner(type.is_inner);
    types[i].setReadsAny(type.reads_any);
    types[i].setIsStep(type.is_step);
    types[i].setKeepsNone(type.keeps_none);
  }
}

Result<GraphSource> read(wire::LoadGraphs::Reader reader, const WireLimits& limits) {
  auto trees = read(reader.getTrees());
  if (!trees) return tl::unexpected(trees.error());
  std::vector<GraphCellType> types;
  if (reader.getTypes().size() > limits.max_tensors) return invalid("a model cannot have so many cell types");
  for (const auto type : reader.getTypes()) {
    if (Status ok = check_given_name("cell type", view_of(type.getName()), limits); !ok)
      return tl::unexpected(ok.error());
    types.push_back({.name = std::string(view_of(type.getName())),
                     .is_leaf = type.getIsLeaf(),
                     .is_inner = type.getIsInner(),
                     .reads_any = type.getReadsAny(),
                     .is_step = type.getIsStep(),
                     .keeps_none = type.getKeepsNone()});
  }
  return GraphSource::make(std::move(*trees), types);
}

void write(const SequencesSource& source, wire::LoadSequences::Builder builder) {
  write(source.lengths, builder.initLengths());
  auto names = builder.initNames(static_cast<unsigned>(source.names.size()));
  for (unsigned i = 0; i < names.size(); ++i) names.set(i, source.names[i].c_str());
  auto of_input = builder.initOfInput(static_cast<unsigned>(source.of_input.size()));
  for (unsigned i = 0; i < of_input.size(); ++i)
    of_input.set(i, static_cast<std::uint32_t>(source.of_input[i]));
  put_list(source.partners, builder.initPartners(static_cast<unsigned>(source.partners.size())));
}

Result<SequencesSource> read(wire::LoadSequences::Reader reader, const WireLimits& limits) {
  auto lengths = read(reader.getLengths());
  if (!lengths) return tl::unexpected(lengths.error());
  SequencesSource source{.lengths = std::move(*lengths)};
  if (reader.getNames().size() > limits.max_tensors || reader.getOfInput().size() > limits.max_tensors)
    return invalid("a request cannot have so many sequences");
  for (const auto name : reader.getNames()) {
    if (Status ok = check_given_name("sequence", view_of(name), limits); !ok)
      return tl::unexpected(ok.error());
    source.names.emplace_back(view_of(name));
  }
  source.of_input = read_list<std::size_t>(reader.getOfInput());
  const auto is_one = [&](std::size_t number) {
    return number < source.names.size() || number == SequencesSource::kOnce;
  };
  if (source.of_input.empty() || !std::ranges::all_of(source.of_input, is_one))
    return invalid("each input of a model over sequences belongs to one");
  source.partners = read_list<std::uint32_t>(reader.getPartners());
  if (Status ok = check_pairs(source); !ok) return tl::unexpected(ok.error());
  return source;
}

// The room that each takes in a message.
struct Words {
  std::size_t operator()(const LengthSource& lengths) const {
    return kRoomWords + lengths.table().size() / 2 + text_words(lengths.description());
  }
  std::size_t operator()(const TreeSource& source) const {
    std::size_t sum = kRoomWords + source.trees().size() / 2 + text_words(source.description());
    for (const auto& tree : source.trees()) sum += tree.size() / 2 + 1;
    return sum + (*this)(source.leaves());
  }
  std::size_t operator()(const LatticeSource& source) const {
    std::size_t sum = kRoomWords + source.lattices().size() + text_words(source.description());
    for (const LatticeShape& lattice : source.lattices()) sum += lattice.starts.size() + 1;
    return sum + (*this)(source.lengths());
  }
  std::size_t operator()(const GraphSource& source) const {
    std::size_t sum = kRoomWords;
    for (const GraphCellType& type : source.types()) sum += 2 + text_words(type.name);
    return sum + (*this)(source.trees());
  }
  std::size_t operator()(const SequencesSource& source) const {
    std::size_t sum = kRoomWords + source.of_input.size() + source.partners.size() / 2 + 1;
    for (const std::string& name : source.names) sum += 1 + text_words(name);
    return sum + (*this)(source.lengths);
  }
};

Result<Shapes> either(auto&& shapes) {
  if (!shapes) return tl::unexpected(shapes.error());
  return Shapes(std::move(*shapes));
}

}  // namespace

std::size_t shapes_words(const Shapes& shapes) {
  return std::visit(Words{}, shapes);
}

void write_shapes(const Shapes& shapes, wire::LoadClass::Shapes::Builder builder) {
  if (const auto* lengths = std::get_if<LengthSource>(&shapes)) write(*lengths, builder.initLengths());
  if (const auto* trees = std::get_if<TreeSource>(&shapes)) write(*trees, builder.initTrees());
  if (const auto* lattices = std::get_if<LatticeSource>(&shapes)) write(*lattices, builder.initLattices());
  if (const auto* graphs = std::get_if<GraphSource>(&shapes)) write(*graphs, builder.initGraphs());
  if (const auto* sequences = std::get_if<SequencesSource>(&shapes))
    write(*sequences, builder.initSequences());
}

Result<Shapes> read_shapes(wire::LoadClass::Shapes::Reader reader, const WireLimits& limits) {
  switch (reader.which()) {
    case wire::LoadClass::Shapes::LENGTHS:
      return either(read(reader.getLengths()));
    case wire::LoadClass::Shapes::TREES:
      return either(read(reader.getTrees()));
    case wire::LoadClass::Shapes::LATTICES:
      return either(read(reader.getLattices()));
    case wire::LoadClass::Shapes::GRAPHS:
      return either(read(reader.getGraphs(), limits));
    case wire::LoadClass::Shapes::SEQUENCES:
      return either(read(reader.getSequences(), limits));
  }
  return invalid("requests are of a shape that this program does not know");
}

}  // namespace volvox
