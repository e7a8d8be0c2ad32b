#include "loadgen/requests/request_source.h"

#include <algorithm>
#include <span>

namespace volvox {
namespace {

using Form = RequestContent::Form;

// Makes room for the tokens of a request of each shape.
class ContentMaker {
 public:
  ContentMaker(SeededRandom& random, RequestContent& content) : random_(random), content_(content) {}

  void operator()(const LengthSource& lengths) {
    content_.parents.clear();
    content_.tokens.resize(lengths.draw(random_));
  }
  void operator()(const TreeSource& trees) {
    trees.draw(random_, content_.parents);
    content_.tokens.resize(content_.parents.size());
  }
  void operator()(const LatticeSource& lattices) {
    LatticeShape lattice = lattices.draw(random_);
    content_.form = Form::kLattice;
    content_.tokens.resize(lattice.length);
    content_.more.resize(1);
    content_.more[0].resize(lattice.starts.size());
    content_.starts = std::move(lattice.starts);
    content_.ends = std::move(lattice.ends);
  }
  void operator()(const GraphSource& graphs) {
    GraphSource::Graph graph = graphs.draw(random_);
    content_.form = Form::kGraph;
    content_.tokens.resize(graph.types.size());
    content_.names = graphs.names();
    content_.types = std::move(graph.types);
    content_.offsets = std::move(graph.offsets);
    content_.predecessors = std::move(graph.predecessors);
  }
  void operator()(const SequencesSource& sequences) {
    content_.form = Form::kSequences;
    content_.names = sequences.names;
    draw(sequences, content_.lengths);
    const auto rows = [&](std::size_t input) {
      const std::size_t of = sequences.of_input[input];
      return of == SequencesSource::kOnce ? 1 : static_cast<std::size_t>(content_.lengths[of]);
    };
    content_.tokens.resize(rows(0));
    content_.more.resize(sequences.of_input.size() - 1);
    for (std::size_t i = 0; i < content_.more.size(); ++i) content_.more[i].resize(rows(i + 1));
  }

 private:
  void draw(const SequencesSource& sequences, std::vector<std::int32_t>& lengths) {
    if (!sequences.partners.empty()) {
      const std::size_t pair = random_.below(sequences.partners.size());
      lengths = {static_cast<std::int32_t>(sequences.lengths.table()[pair]),
                 static_cast<std::int32_t>(sequences.partners[pair])};
      return;
    }
    lengths.resize(sequences.names.size());
    for (std::int32_t& length : lengths) length = static_cast<std::int32_t>(sequences.lengths.draw(random_));
  }

  SeededRandom& random_;
  RequestContent& content_;
};

// The shapes of one size.
struct Sized {
  std::uint32_t size;

  using Shapes = RequestSource::Shapes;
  Shapes operator()(const LengthSource&) const { return LengthSource::fixed(size); }
  Shapes operator()(const TreeSource& source) const { return trees(source); }
  Shapes operator()(const LatticeSource&) const { return LatticeSource::random(LengthSource::fixed(size)); }
  Shapes operator()(const GraphSource& source) const {
    return *GraphSource::make(trees(source.trees()), source.types());  // as once before
  }
  Shapes operator()(const SequencesSource& source) const {
    return SequencesSource{LengthSource::fixed(size), source.names, source.of_input};
  }

  TreeSource trees(const TreeSource& source) const {
    return TreeSource::random(LengthSource::fixed(size), source.most_children());
  }
};

// Of the first input, for each shape.
struct MostRows {
  std::uint64_t operator()(const LengthSource& lengths) const { return lengths.longest(); }
  std::uint64_t operator()(const TreeSource& source) const {
    // Joined by twos, there are fewer inner nodes than leaves; with some of one child, at worst twice as many
    // on average.
    if (source.trees().empty())
      return (source.most_children() == 2 ? 2U : 4U) * std::uint64_t{source.leaves().longest()};
    std::size_t most = 0;
    for (const auto& tree : source.trees()) most = std::max(most, tree.size());
    return most;
  }
  std::uint64_t operator()(const LatticeSource& source) const {
    if (source.lattices().empty()) return source.lengths().longest();
    return std::ranges::max_element(source.lattices(), {}, &LatticeShape::length)->length;
  }
  std::uint64_t operator()(const GraphSource& source) const {
    const TreeSource& trees = source.trees();
    if (std::ranges::any_of(source.types(), &GraphCellType::is_leaf)) return (*this)(trees);
    const std::uint64_t words = trees.trees().empty() ? trees.leaves().longest() : (*this)(trees);
    return words * GraphSource::kMostNodesOfAWord;
  }
  std::uint64_t operator()(const SequencesSource& source) const {
    if (source.of_input[0] == SequencesSource::kOnce) return 1;
    const bool second = source.of_input[0] == 1 && !source.partners.empty();
    return second ? *std::ranges::max_element(source.partners) : source.lengths.longest();
  }
};

std::vector<std::string_view> views_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

Status check_pairs(const SequencesSource& sequences) {
  const auto& partners = sequences.partners;
  if (partners.empty()) return {};
  if (sequences.names.size() != 2 || partners.size() != sequences.lengths.table().size())
    return invalid("lengths come in pairs for two sequences, and each has its partner");
  const auto is_length = [](std::uint32_t length) {
    return length > 0 && length <= LengthSource::kMaxLength;
  };
  if (!std::ranges::all_of(partners, is_length)) return invalid("a length is from 1 to 1048576");
  return {};
}

Structure structure_of(const RequestContent& content) {
  const auto rows = static_cast<std::uint32_t>(content.tokens.size());
  switch (content.form) {
    case Form::kSequences:
      return SequencesStructure{views_of(content.names), content.lengths};
    case Form::kLattice:
      return LatticeStructure{rows, content.starts, content.ends};
    case Form::kGraph:
      return GraphStructure{views_of(content.names), content.types, content.offsets, content.predecessors};
    case Form::kChainOrTree:
      break;
  }
  if (content.parents.empty()) return ChainStructure{rows};
  return TreeStructure{content.parents};
}

void RequestSource::make(std::uint64_t index, RequestContent& content, std::uint32_t size) const {
  SeededRandom random = SeededRandom::for_item(seed_, index);
  ContentMaker maker(random, content);
  if (size == 0) {
    std::visit(maker, shapes_);
  } else {
    std::visit(maker, std::visit(Sized{size}, shapes_));
  }
  const auto fill = [&](std::vector<std::int32_t>& tokens, std::uint32_t vocabulary) {
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random.below(vocabulary));
  };
  fill(content.tokens, vocabulary_);
  for (std::size_t i = 0; i < content.more.size(); ++i)
    fill(content.more[i], i < more_.size() ? more_[i] : vocabulary_);
  content.row_shape = row_shape_;
  std::size_t reals = row_shape_.empty() ? 0 : content.tokens.size();
  for (const std::uint32_t extent : row_shape_) reals *= extent;
  content.reals.resize(reals);
  for (float& real : content.reals) real = static_cast<float>(2 * random.unit() - 1);
}

std::uint64_t RequestSource::most_rows(std::uint32_t size) const {
  return size == 0 ? std::visit(MostRows{}, shapes_)
                   : std::visit(MostRows{}, std::visit(Sized{size}, shapes_));
}

std::string RequestSource::description() const {
  if (const auto* lengths = std::get_if<LengthSource>(&shapes_)) return "lengths " + lengths->description();
  return std::visit([](const auto& shapes) { return std::string(shapes.description()); }, shapes_);
}

ClientRequest request_with_inputs(std::string model, std::string_view inputs) {
  ClientRequest request;
  request.header.model = std::move(model);
  while (!inputs.empty()) {
    const std::size_t comma = std::min(inputs.find(','), inputs.size());
    request.body.inputs.push_back(wire_tensor(inputs.substr(0, comma), std::span<const std::int32_t>()));
    inputs.remove_prefix(std::min(comma + 1, inputs.size()));
  }
  return request;
}

void fill_request(ClientRequest& request, const RequestContent& content) {
  std::size_t rows = content.tokens.size();
  for (const auto& more : content.more) rows += more.size();
  request.header.cells_hint = static_cast<std::uint32_t>(rows);
  request.body.structure = structure_of(content);
  for (std::size_t i = 0; i < std::min(request.body.inputs.size(), content.more.size() + 1); ++i) {
    WireTensor& input = request.body.inputs[i];
    const auto& tokens = i == 0 ? content.tokens : content.more[i - 1];
    input = wire_tensor(input.name, std::span<const std::int32_t>(tokens));
  }
  if (content.row_shape.empty() || request.body.inputs.empty()) return;
  WireTensor& first = request.body.inputs[0];
  WireShape shape{static_cast<std::int64_t>(content.tokens.size())};
  for (const std::uint32_t extent : content.row_shape) shape.append(extent);
  first = wire_tensor(first.name, std::span<const float>(content.reals), shape);
}

}  // namespace volvox
