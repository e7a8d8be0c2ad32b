#include <random>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "protocol/codec/codec.h"
#include "protocol/v2/request_codec.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kInputs = R"("inputs":[{"name":"x","datatype":"INT32","shape":[3],"data":[1,2,3]}]})";

Result<V2Request> decode(const std::string& content, const WireLimits& limits = {}) {
  return decode_v2_request(std::as_bytes(std::span(content)), std::nullopt, limits);
}

std::string with(const std::string& structure) {
  return R"({"parameters":{"priority":1,"structure":)" + structure + R"(,"timeout":5},)" + kInputs;
}

// What is said of a structure that must be refused.
std::string structure_error(const std::string& structure, const WireLimits& limits = {}) {
  const auto request = decode(with(structure), limits);
  if (request) return "nothing";
  EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
  EXPECT_LE(request.error().message.size(), kMaxErrorTextBytes);
  return request.error().message;
}

constexpr const char* kTree = R"({"tree":{"parents":[2,2,-1]}})";
constexpr const char* kLattice = R"({"lattice":{"starts":[0,1],"ends":[2,3],"length":3}})";
constexpr const char* kGraph =
    R"({"graph":{"cellTypes":["leaf","join"],"typeOf":[0,0,1],"predecessorOffsets":[0,0,0,2],)"
    R"("predecessors":[1,0]}})";

// As the house's own decoder reads it, from the bytes that the request becomes.
template <class Kind, class Check>
void expect_body(const std::string& content, std::uint32_t cells, Check check) {
  auto request = decode(content);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->header.cells_hint, cells);
  const V2Request moved = std::move(*request);
  const auto encoded = encode_request_body(moved.body, WireLimits{});
  ASSERT_TRUE(encoded) << encoded.error().message;
  const auto body = decode_request_body(encoded->bytes(), WireLimits{});
  ASSERT_TRUE(body) << body.error().message;
  const auto* kind = std::get_if<Kind>(&body->structure);
  ASSERT_NE(kind, nullptr);
  check(*kind);
}

TEST(V2Structure, EveryKind) {
  expect_body<ChainStructure>(with(R"({"chain":{"length":3}})"), 3,
                              [](const ChainStructure& chain) { EXPECT_EQ(chain.length, 3U); });
  expect_body<TreeStructure>(
      with(kTree), 3, [](const TreeStructure& tree) { EXPECT_THAT(tree.parents, ElementsAre(2, 2, -1)); });
  expect_body<LatticeStructure>(with(kLattice), 5, [](const LatticeStructure& lattice) {
    EXPECT_EQ(lattice.length, 3U);
    EXPECT_THAT(lattice.starts, ElementsAre(0, 1));
    EXPECT_THAT(lattice.ends, ElementsAre(2, 3));
  });
  expect_body<SequencesStructure>(with(R"({"sequences":{"names":["source","target"],"lengths":[5,9]}})"), 14,
                                  [](const SequencesStructure& sequences) {
                                    EXPECT_THAT(sequences.names, ElementsAre("source", "target"));
                                    EXPECT_THAT(sequences.lengths, ElementsAre(5, 9));
                                  });
  expect_body<GraphStructure>(with(kGraph), 3, [](const GraphStructure& graph) {
    EXPECT_THAT(graph.cell_types, ElementsAre("leaf", "join"));
    EXPECT_THAT(graph.type_of, ElementsAre(0, 0, 1));
    EXPECT_THAT(graph.offsets, ElementsAre(0, 0, 0, 2));
    EXPECT_THAT(graph.predecessors, ElementsAre(1, 0));
  });
}

TEST(V2Structure, ATextMayHoldIt) {
  const std::string text = nlohmann::json(kTree).dump();
  expect_body<TreeStructure>(
      with(text), 3, [](const TreeStructure& tree) { EXPECT_THAT(tree.parents, ElementsAre(2, 2, -1)); });
  EXPECT_THAT(structure_error(R"("{\"tree\":")"), HasSubstr("a text that is no JSON"));
  EXPECT_THAT(structure_error(R"("{\"tree\":{\"parents\":[-1]}} x")"), HasSubstr("a text that is no JSON"));
  EXPECT_THAT(structure_error(R"("")"), HasSubstr("a text that is no JSON"));
  EXPECT_THAT(structure_error(R"("\"{}\"")"), HasSubstr("must be an object, not a text"));
  EXPECT_THAT(structure_error(R"("[]")"), HasSubstr("must be an object, not a list"));
}

TEST(V2Structure, ThoseAroundItAreReadAsWithoutIt) {
  const auto request = decode(with(kGraph));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->header.priority, WirePriority::kHigh);
  EXPECT_EQ(request->header.deadline_us, 5U);
  EXPECT_THAT(*request->body.inputs[0].values<std::int32_t>(), ElementsAre(1, 2, 3));
  // The name counts among the request's parameters only, however it is written.
  EXPECT_TRUE(decode(R"({"parameters":{"\u0073tructure":)" + std::string(kTree) + "}," + kInputs));
  EXPECT_FALSE(decode(R"({"structure":)" + std::string(kTree) + "," + kInputs));
}

TEST(V2Structure, ThoseThatAreNone) {
  for (const char* bad :
       {"null",
        "true",
        "7",
        "-7",
        "0.5",
        "[]",
        "{}",
        R"({"tree":[]})",
        R"({"tree":null})",
        R"({"tree":{}})",
        R"({"ring":{"parents":[]}})",
        R"({"tree":{"parents":7}})",
        R"({"tree":{"parents":{}}})",
        R"({"tree":{"parents":[[0]]}})",
        R"({"tree":{"parents":[{}]}})",
        R"({"tree":{"parents":["0"]}})",
        R"({"tree":{"parents":[null]}})",
        R"({"tree":{"parents":[-1.0]}})",
        R"({"tree":{"parents":[true]}})",
        R"({"tree":{"parents":[-1],"x":1}})",
        R"({"tree":{"parents":[-1],"parents":[-1]}})",
        R"({"tree":{"parents":[-1]},"tree":{"parents":[-1]}})",
        R"({"tree":{"parents":[-1]},"chain":{"length":3}})",
        R"({"lattice":{"length":3}})",
        R"({"lattice":{"length":[3],"starts":[],"ends":[]}})",
        R"({"chain":{"length":-1}})",
        R"({"chain":{"length":4294967296}})",
        R"({"chain":{"length":18446744073709551615}})",
        R"({"tree":{"parents":[2147483648]}})",
        R"({"tree":{"parents":[-2147483649]}})",
        R"({"graph":{"cellTypes":"a","typeOf":[],"predecessorOffsets":[],"predecessors":[]}})",
        R"({"graph":{"cellTypes":[0],"typeOf":[],"predecessorOffsets":[],"predecessors":[]}})"}) {
    EXPECT_THAT(structure_error(bad), HasSubstr("parameter 'structure'")) << bad;
  }
  const auto twice = decode(R"({"parameters":{"structure":)" + std::string(kTree) + R"(,"structure":)" +
                            kTree + "}," + kInputs);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("is given twice"));
}

// As they are refused at the other door.
TEST(V2Structure, ThoseWhoseIndicesMakeNoSense) {
  for (const auto& [bad, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"tree":{"parents":[]}})", "tree nodes is 0"},
           {R"({"tree":{"parents":[0,-1,-1]}})", "children come before parents"},
           {R"({"tree":{"parents":[3,-1,-1]}})", "children come before parents"},
           {R"({"tree":{"parents":[-2,-1,-1]}})", "children come before parents"},
           {R"({"lattice":{"length":0,"starts":[],"ends":[]}})", "lattice.length is 0"},
           {R"({"lattice":{"length":3,"starts":[0],"ends":[]}})", "lattice.ends has 0"},
           {R"({"lattice":{"length":3,"starts":[1],"ends":[1]}})", "is empty or outside"},
           {R"({"lattice":{"length":3,"starts":[-1],"ends":[1]}})", "is empty or outside"},
           {R"({"lattice":{"length":3,"starts":[2],"ends":[4]}})", "is empty or outside"},
           {R"({"graph":{"cellTypes":["a"],"typeOf":[1],"predecessorOffsets":[0,0],"predecessors":[]}})",
            "graph.typeOf[0] is 1"},
           {R"({"graph":{"cellTypes":["a"],"typeOf":[0],"predecessorOffsets":[0],"predecessors":[]}})",
            "graph.predecessorOffsets"},
           {R"({"graph":{"cellTypes":["a"],"typeOf":[0,0],"predecessorOffsets":[0,2,1],"predecessors":[0]}})",
            "offsets must not fall"},
           {R"({"graph":{"cellTypes":["a"],"typeOf":[0],"predecessorOffsets":[0,1],"predecessors":[0]}})",
            "nodes of smaller number"},
           {R"({"graph":{"cellTypes":["a","a"],"typeOf":[0],"predecessorOffsets":[0,0],"predecessors":[]}})",
            "graph cell type"}}) {
    EXPECT_THAT(structure_error(bad), HasSubstr(says)) << bad;
  }
}

TEST(V2Structure, ThoseThatAreTooLarge) {
  WireLimits limits;
  limits.max_nodes = 2;
  limits.max_edges = 2;
  limits.max_tensors = 1;
  EXPECT_THAT(structure_error(kTree, limits), HasSubstr("the limit is 2"));
  EXPECT_THAT(structure_error(R"({"tree":{"parents":[1,2,3,-1]}})", limits),
              HasSubstr("more entries than wire.max_edges"));
  EXPECT_THAT(structure_error(kGraph, limits), HasSubstr("more entries than wire.max_tensors"));
  EXPECT_THAT(structure_error(R"({"chain":{"length":3}})", limits), HasSubstr("the limit is 2"));
  EXPECT_THAT(structure_error(std::string(1'000'000, '[')), HasSubstr("nests deeper than"));
  EXPECT_THAT(structure_error(nlohmann::json(std::string(1'000'000, '[')).dump()), HasSubstr("not a list"));
}

// Its entries do not count as values of the document.
TEST(V2Structure, ALongOneIsRead) {
  std::string parents = "1";
  for (int node = 2; node < 100'000; ++node) parents.append(",").append(std::to_string(node));
  expect_body<TreeStructure>(with(R"({"tree":{"parents":[)" + parents + ",-1]}}"), 100'000,
                             [](const TreeStructure& tree) { EXPECT_EQ(tree.parents[99'998], 99'999); });
}

TEST(V2Structure, EveryPrefixIsRefused) {
  for (const std::string& whole : {with(kTree), with(kLattice), with(nlohmann::json(kGraph).dump())}) {
    ASSERT_TRUE(decode(whole));
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_FALSE(decode(whole.substr(0, length))) << length;
  }
}

TEST(V2Structure, RandomDamageIsRefusedOrHarmless) {
  std::mt19937 random(5);
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = with(round % 3 == 0 ? kTree : round % 3 == 1 ? kLattice : kGraph);
    for (std::uint32_t change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % bad.size();
      const std::size_t length = 1 + random() % 6;
      if (random() % 2 == 0) {
        bad[at] = "0123456789-[]{},:\""[random() % 18];
      } else {
        bad.insert(random() % bad.size(), bad.substr(at, length));
      }
    }
    const auto request = decode(bad);
    if (!request) {
      EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
      continue;
    }
    ++taken;
    const auto encoded = encode_request_body(request->body, WireLimits{});
    EXPECT_TRUE(encoded || encoded.error().code == ErrorCode::kInvalidArgument);
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace volvox
