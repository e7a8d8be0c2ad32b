#include <cstdint>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include "protocol/codec/codec.h"
#include "protocol/volvox.capnp.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using test::contains;
using Ints = std::vector<std::int32_t>;

RequestBody with(Structure structure) {
  RequestBody body;
  body.structure = std::move(structure);
  return body;
}

// What an encoder says to a structure; the decoder runs the same check, as HostileBytes and the tests below
// show.
std::string refusal(Structure structure, const WireLimits& limits = {}) {
  const auto bytes = encode_request_body(with(std::move(structure)), limits);
  return bytes ? "accepted" : bytes.error().message;
}

RequestBody round_trip(Structure structure) {
  const auto bytes = encode_request_body(with(std::move(structure)), WireLimits{});
  EXPECT_TRUE(bytes) << to_string(bytes.error());
  auto body = decode_request_body(bytes->bytes(), WireLimits{});
  EXPECT_TRUE(body) << to_string(body.error());
  return std::move(body).value();
}

Ints ints(std::span<const std::int32_t> values) {
  return {values.begin(), values.end()};
}

TEST(StructureCodec, KeepsATree) {
  const Ints parents{2, 2, 4, 4, -1};
  const RequestBody body = round_trip(TreeStructure{parents});
  EXPECT_EQ(ints(std::get<TreeStructure>(body.structure).parents), parents);
}

TEST(StructureCodec, KeepsSequences) {
  const Ints lengths{12, 30};
  const RequestBody body = round_trip(SequencesStructure{{"source", "target"}, lengths});
  const auto& sequences = std::get<SequencesStructure>(body.structure);
  EXPECT_EQ(sequences.names, (std::vector<std::string_view>{"source", "target"}));
  EXPECT_EQ(ints(sequences.lengths), lengths);
}

TEST(StructureCodec, RefusesBadSequences) {
  const Ints one{3}, two{3, 4}, none{0}, below{-1}, large{2, 1};
  WireLimits limits;
  limits.max_nodes = 7;
  EXPECT_EQ(refusal(SequencesStructure{{"a", "b"}, two}, limits), "accepted");
  EXPECT_TRUE(contains(refusal(SequencesStructure{{}, {}}), "name at least one"));
  EXPECT_TRUE(contains(refusal(SequencesStructure{{"a", "b"}, one}), "names has 2 entries but"));
  EXPECT_TRUE(contains(refusal(SequencesStructure{{"a"}, none}), "lengths[0] is 0; it must be at least 1"));
  EXPECT_TRUE(contains(refusal(SequencesStructure{{"a"}, below}), "lengths[0] is -1"));
  EXPECT_TRUE(contains(refusal(SequencesStructure{{"a", "a"}, two}), "'a' is given twice"));
  limits.max_nodes = 2;
  EXPECT_TRUE(contains(refusal(SequencesStructure{{"a", "b"}, large}, limits), "the limit is 2"));
}

TEST(StructureCodec, KeepsALattice) {
  const Ints starts{0, 1}, ends{2, 5};
  const RequestBody body = round_trip(LatticeStructure{5, starts, ends});
  const auto& lattice = std::get<LatticeStructure>(body.structure);
  EXPECT_EQ(lattice.length, 5U);
  EXPECT_EQ(ints(lattice.starts), starts);
  EXPECT_EQ(ints(lattice.ends), ends);
}

TEST(StructureCodec, KeepsAGraph) {
  const Ints types{0, 1, 0}, offsets{0, 0, 1, 3}, predecessors{0, 0, 1};
  const RequestBody body = round_trip(GraphStructure{{"encoder", "decoder"}, types, offsets, predecessors});
  const auto& graph = std::get<GraphStructure>(body.structure);
  EXPECT_EQ(graph.cell_types, (std::vector<std::string_view>{"encoder", "decoder"}));
  EXPECT_EQ(ints(graph.type_of), types);
  EXPECT_EQ(ints(graph.offsets), offsets);
  EXPECT_EQ(ints(graph.predecessors), predecessors);
}

TEST(StructureCodec, RefusesNone) {
  EXPECT_TRUE(contains(refusal(NoStructure{}), "no structure"));
  capnp::MallocMessageBuilder message;
  message.initRoot<wire::RequestBody>();
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size()));
  const auto body = decode_request_body(bytes, WireLimits{});
  ASSERT_FALSE(body);
  EXPECT_TRUE(contains(body.error().message, "no structure"));
}

TEST(StructureCodec, BoundsAChain) {
  WireLimits limits;
  limits.max_nodes = 10;
  EXPECT_EQ(refusal(ChainStructure{10}, limits), "accepted");
  EXPECT_EQ(refusal(ChainStructure{11}, limits), "chain.length is 11; the limit is 10");
  EXPECT_EQ(refusal(ChainStructure{0}, limits), "accepted");
}

TEST(StructureCodec, RefusesTreesOutOfOrder) {
  EXPECT_EQ(refusal(TreeStructure{Ints{-1}}), "accepted");
  EXPECT_EQ(refusal(TreeStructure{Ints{-1, -1}}), "accepted");
  EXPECT_TRUE(contains(refusal(TreeStructure{Ints{}}), "at least 1"));
  for (const Ints& wrong : {Ints{0}, Ints{1, 0}, Ints{2, -1}, Ints{-2}, Ints{1, 1}}) {
    EXPECT_TRUE(contains(refusal(TreeStructure{wrong}), "children come before parents"));
  }
  WireLimits limits;
  limits.max_nodes = 2;
  EXPECT_TRUE(contains(refusal(TreeStructure{Ints{1, 2, -1}}, limits), "the limit is 2"));
}

TEST(StructureCodec, RefusesLatticesOutOfRange) {
  EXPECT_EQ(refusal(LatticeStructure{3, {}, {}}), "accepted");
  EXPECT_TRUE(
      contains(refusal(LatticeStructure{3, Ints{0}, {}}), "starts has 1 entries but lattice.ends has 0"));
  for (const auto& [start, end] : std::vector<std::pair<int, int>>{{0, 4}, {-1, 2}, {2, 2}, {3, 1}}) {
    EXPECT_TRUE(contains(refusal(LatticeStructure{3, Ints{start}, Ints{end}}), "outside of 3 characters"));
  }
  WireLimits limits;
  limits.max_edges = 1;
  EXPECT_TRUE(contains(refusal(LatticeStructure{3, Ints{0, 0}, Ints{1, 2}}, limits), "the limit is 1"));
}

TEST(StructureCodec, RefusesGraphsWithCyclesOrHoles) {
  const auto graph = [](const Ints& types, const Ints& offsets, const Ints& predecessors) {
    return refusal(GraphStructure{{"a"}, types, offsets, predecessors});
  };
  EXPECT_EQ(graph({0, 0}, {0, 0, 1}, {0}), "accepted");
  EXPECT_TRUE(contains(graph({}, {0}, {}), "at least 1"));
  EXPECT_TRUE(contains(graph({1}, {0, 0}, {}), "graph.typeOf[0] is 1, but there are 1 cell types"));
  EXPECT_TRUE(contains(graph({-1}, {0, 0}, {}), "graph.typeOf[0] is -1"));
  EXPECT_TRUE(contains(graph({0}, {0}, {}), "must have 2 entries"));
  EXPECT_TRUE(contains(graph({0}, {}, {}), "must have 2 entries"));
  EXPECT_TRUE(contains(graph({0}, {1, 1}, {0}), "from 0 to 1"));
  EXPECT_TRUE(contains(graph({0, 0, 0}, {0, 2, 1, 1}, {0}), "must not fall"));
  EXPECT_TRUE(contains(graph({0, 0, 0}, {0, 0, -5, 1}, {0}), "must not fall"));
  EXPECT_TRUE(contains(graph({0}, {0, 1}, {0}), "smaller number"));
  EXPECT_TRUE(contains(graph({0, 0}, {0, 0, 1}, {-1}), "smaller number"));
  EXPECT_TRUE(contains(graph({0, 0}, {0, 1, 2}, {1, 0}), "smaller number"));
}

// Legal Cap'n Proto: a list of structs may stand where a list of integers is expected.
TEST(StructureCodec, RefusesListsThatCannotBeReadInPlace) {
  capnp::MallocMessageBuilder message;
  capnp::AnyStruct::Builder any(message.initRoot<wire::RequestBody>().initStructure().initTree());
  auto list = any.getPointerSection()[0].initAsListOfAnyStruct(1, 0, 3);
  for (auto element : list) *reinterpret_cast<std::int32_t*>(element.getDataSection().begin()) = -1;
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size()));
  const auto body = decode_request_body(bytes, WireLimits{});
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().message, "tree.parents is not a plain list of 32-bit integers");
}

}  // namespace
}  // namespace volvox
