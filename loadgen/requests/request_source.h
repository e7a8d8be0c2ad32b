#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/request.h"
#include "shapes/graphs.h"
#include "shapes/lattices.h"
#include "shapes/lengths.h"
#include "shapes/trees.h"

namespace volvox {

// What one request says. It is a tree where there are parents; otherwise `form` says what it is.
struct RequestContent {
  enum class Form : std::uint8_t { kChainOrTree, kSequences, kLattice, kGraph };

  std::vector<std::int32_t> tokens{};   // rows of the first input: for each step, node or character
  std::vector<std::int32_t> parents{};  // of a tree's nodes; empty: a chain
  Form form = Form::kChainOrTree;
  std::vector<std::vector<std::int32_t>> more{};  // rows of further inputs: for each word, each step
  std::vector<std::string> names{};               // of sequences, or of a graph's cell types
  std::vector<std::int32_t> lengths{};            // of sequences
  std::vector<std::int32_t> starts{}, ends{};     // of a lattice's words
  std::vector<std::int32_t> types{}, offsets{}, predecessors{};  // of a graph: as in GraphStructure
  std::uint32_t of_class = 0;                                    // of the load's RequestMix
  // Where the first input is of f32: its rows, of this shape, as many as there are tokens, which then are
  // not sent.
  std::vector<std::uint32_t> row_shape{};
  std::vector<float> reals{};

  bool operator==(const RequestContent&) const = default;
};

// Rows of the first input.
inline std::span<const std::byte> first_input(const RequestContent& content) {
  return content.row_shape.empty() ? std::as_bytes(std::span(content.tokens))
                                   : std::as_bytes(std::span(content.reals));
}

// The structure that it describes, which views it.
Structure structure_of(const RequestContent& content);

// Sequences whose lengths are drawn apart, or in pairs.
struct SequencesSource {
  static constexpr std::size_t kOnce = ~std::uint32_t{0};  // fits what agents are told

  LengthSource lengths;
  std::vector<std::string> names{};
  std::vector<std::size_t> of_input{};  // by input: whose steps its rows are; kOnce: it has one row
  // Of two sequences: where the first is as long as an entry of the table of `lengths`, the second is as long
  // as the same entry of this. Empty: drawn apart.
  std::vector<std::uint32_t> partners{};

  std::string description() const {
    return (partners.empty() ? "sequences, each of lengths " : "pairs of lengths ") + lengths.description();
  }
};

// INVALID_ARGUMENT for partners that are none, or no lengths.
Status check_pairs(const SequencesSource& sequences);

// What requests say. Request `index` is a function of the seed and its index alone, so a sampled request need
// not be kept: the verification makes it again after the load. Immutable: any number of threads.
class RequestSource {
 public:
  using Shapes = std::variant<LengthSource, TreeSource, LatticeSource, GraphSource, SequencesSource>;

  // Token ids of the first input are drawn from [0, vocabulary), of further ones from [0, more[i]); none may
  // be empty. With a row_shape the first input is of f32, its rows of this shape, and drawn from (-1, 1).
  RequestSource(std::uint64_t seed, Shapes shapes, std::uint32_t vocabulary,
                std::vector<std::uint32_t> more = {}, std::vector<std::uint32_t> row_shape = {})
      : seed_(seed),
        vocabulary_(vocabulary),
        more_(std::move(more)),
        row_shape_(std::move(row_shape)),
        shapes_(std::move(shapes)) {}

  // Replaces `content` by that of request `index`, of a size as TraceEntry says, unless that is 0: then it is
  // drawn.
  void make(std::uint64_t index, RequestContent& content, std::uint32_t size = 0) const;
  // The most rows that its first input then has. Of random trees whose nodes may have one child, which have
  // no bound, long ones hardly come near it.
  std::uint64_t most_rows(std::uint32_t size = 0) const;

  // As it was made.
  std::uint64_t seed() const { return seed_; }
  std::uint32_t vocabulary() const { return vocabulary_; }
  const std::vector<std::uint32_t>& more() const { return more_; }
  const std::vector<std::uint32_t>& row_shape() const { return row_shape_; }
  const Shapes& shapes() const { return shapes_; }

  // For reports: what shapes requests have.
  std::string description() const;

 private:
  std::uint64_t seed_;
  std::uint32_t vocabulary_;
  std::vector<std::uint32_t> more_;
  std::vector<std::uint32_t> row_shape_;
  Shapes shapes_;
};

// A request without content, with an input for each of the names, which commas separate; none if empty. Views
// the names.
ClientRequest request_with_inputs(std::string model, std::string_view inputs);

// Sets the request's structure, and as many of its inputs as there are. Views `content`.
void fill_request(ClientRequest& request, const RequestContent& content);

}  // namespace volvox
