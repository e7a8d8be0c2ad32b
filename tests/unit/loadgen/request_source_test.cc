#include "loadgen/requests/request_source.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(RequestSource, ARequestIsAFunctionOfSeedAndIndex) {
  const RequestSource source(5, LengthSource::built_in(), 30000), same(5, LengthSource::built_in(), 30000),
      other(6, LengthSource::built_in(), 30000);
  RequestContent forward, again, different;
  std::set<std::vector<std::int32_t>> distinct;
  for (std::uint64_t index = 0; index < 200; ++index) {
    source.make(index, forward);
    same.make(index, again);
    other.make(index, different);
    EXPECT_EQ(forward, again);
    EXPECT_NE(forward, different);
    distinct.insert(forward.tokens);
  }
  EXPECT_EQ(distinct.size(), 200U);
  source.make(17, forward);
  same.make(17, again);
  EXPECT_EQ(forward, again) << "out of order";
}

TEST(RequestSource, IdsFillTheVocabulary) {
  const RequestSource source(1, LengthSource::fixed(100), 7);
  RequestContent content;
  std::set<std::int32_t> seen;
  for (std::uint64_t index = 0; index < 20; ++index) {
    source.make(index, content);
    EXPECT_EQ(content.tokens.size(), 100U);
    EXPECT_TRUE(content.parents.empty());
    seen.insert(content.tokens.begin(), content.tokens.end());
  }
  EXPECT_EQ(seen, (std::set<std::int32_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(RequestSource, ATreeHasATokenForEachNode) {
  const RequestSource source(5, TreeSource::random(LengthSource::fixed(10)), 7);
  RequestContent content, again;
  std::set<std::vector<std::int32_t>> distinct;
  for (std::uint64_t index = 0; index < 50; ++index) {
    source.make(index, content);
    source.make(index, again);
    EXPECT_EQ(content, again);
    EXPECT_EQ(content.tokens.size(), 19U);
    EXPECT_EQ(content.parents.size(), 19U);
    distinct.insert(content.parents);
  }
  EXPECT_GT(distinct.size(), 30U) << "shapes differ, too";
}

TEST(RequestSource, ARequestTakesTheStructureOfItsContent) {
  ClientRequest request = chain_request("m", "tokens", std::span<const std::int32_t>());
  fill_request(request, {{1, 2, 3}, {2, 2, -1}});
  ASSERT_TRUE(std::holds_alternative<TreeStructure>(request.body.structure));
  EXPECT_EQ(request.header.cells_hint, 3U);
  EXPECT_EQ(request.body.inputs[0].shape, WireShape({3}));
  fill_request(request, {{1, 2}, {}});
  EXPECT_EQ(std::get<ChainStructure>(request.body.structure).length, 2U);
  request.body.inputs.clear();
  fill_request(request, {{1, 2}, {}});
  EXPECT_TRUE(request.body.inputs.empty()) << "a model without inputs";
}

TEST(RequestSource, NoRequestHasMoreRowsThanTheMost) {
  const auto expect_most = [](RequestSource::Shapes shapes, std::uint64_t most) {
    const RequestSource source(5, std::move(shapes), 7);
    EXPECT_EQ(source.most_rows(), most) << source.description();
    RequestContent content;
    for (std::uint64_t index = 0; index < 200; ++index) {
      for (const std::uint32_t size : {0U, 40U}) {
        source.make(index, content, size);
        ASSERT_LE(content.tokens.size(), source.most_rows(size)) << source.description();
      }
    }
  };
  const LengthSource lengths = LengthSource::from_table({3, 27, 9}, "a file").value();
  const LengthSource one = LengthSource::fixed(1);
  expect_most(LengthSource::built_in(), LengthSource::kBuiltInMax);
  expect_most(lengths, 27);
  expect_most(TreeSource::from_table({{-1}, {2, 2, -1}}, one, 2, "trees").value(), 3);
  expect_most(TreeSource::random(lengths), 2 * 27);
  expect_most(TreeSource::random(lengths, 3), 4 * 27);
  expect_most(LatticeSource::from_table({{4, {}, {}}, {5, {0}, {2}}}, one, "lattices").value(), 5);
  expect_most(LatticeSource::random(lengths), 27);
  const std::vector<GraphCellType> of_trees{{.name = "leaf", .is_leaf = true},
                                            {.name = "inner", .is_inner = true}};
  expect_most(GraphSource::make(TreeSource::random(lengths), of_trees).value(), 2 * 27);
  const std::vector<GraphCellType> of_texts{{.name = "character", .is_step = true},
                                            {.name = "ahead", .is_inner = true},
                                            {.name = "back", .is_inner = true},
                                            {.name = "label", .is_inner = true, .keeps_none = true}};
  expect_most(GraphSource::make(TreeSource::random(lengths), of_texts).value(), 12 * 27);
  expect_most(SequencesSource{lengths, {"a", "b"}, {1, 0}}, 27);
  expect_most(SequencesSource{lengths, {"a", "b"}, {1, 0}, {4, 28, 10}}, 28);
  expect_most(SequencesSource{lengths, {"a"}, {SequencesSource::kOnce}}, 1);
}

TEST(RequestSource, RowsOfNumbersHaveTheirShape) {
  const RequestSource source(5, LengthSource::fixed(7), 30000, {}, {2, 3});
  RequestContent content, again;
  source.make(4, content);
  source.make(4, again);
  EXPECT_EQ(content, again);
  ASSERT_EQ(content.reals.size(), 7U * 2 * 3);
  EXPECT_EQ(first_input(content).size(), 7U * 2 * 3 * sizeof(float));
  const auto [least, most] = std::minmax_element(content.reals.begin(), content.reals.end());
  EXPECT_LT(*least, -0.5F);
  EXPECT_GT(*most, 0.5F);
  ClientRequest request = request_with_inputs("m", "x");
  fill_request(request, content);
  EXPECT_EQ(request.body.inputs[0].shape, WireShape({7, 2, 3}));
  EXPECT_EQ(request.body.inputs[0].type, WireType::kF32);
  EXPECT_EQ(request.body.inputs[0].bytes.size(), first_input(content).size());
  EXPECT_EQ(std::get<ChainStructure>(request.body.structure).length, 7U);
  RequestSource(5, LengthSource::fixed(7), 30000).make(4, again);
  EXPECT_EQ(again.tokens, content.tokens);
  RequestSource(5, LengthSource::fixed(7), 30000).make(4, content);
  EXPECT_TRUE(content.reals.empty()) << "of the request before";
}

TEST(RequestSource, ALatticeHasARowForEachCharacterAndForEachWord) {
  const RequestSource source(5, LatticeSource::random(LengthSource::fixed(40)), 7, {3});
  RequestContent content, again;
  source.make(1, content);
  source.make(2, again);
  source.make(1, again);
  EXPECT_EQ(content, again);
  ASSERT_EQ(content.more.size(), 1U);
  EXPECT_EQ(content.tokens.size(), 40U);
  EXPECT_EQ(content.more[0].size(), content.starts.size());
  EXPECT_LT(*std::max_element(content.more[0].begin(), content.more[0].end()), 3);
  ClientRequest request = request_with_inputs("m", "characters,words");
  fill_request(request, content);
  ASSERT_EQ(request.body.inputs.size(), 2U);
  EXPECT_EQ(request.body.inputs[1].name, "words");
  EXPECT_EQ(request.body.inputs[1].shape[0], static_cast<std::int64_t>(content.starts.size()));
  EXPECT_EQ(std::get<LatticeStructure>(request.body.structure).length, 40U);
}

TEST(RequestSource, SequencesHaveLengthsOfTheirOwn) {
  const SequencesSource sequences{LengthSource::built_in(), {"left", "right"}, {1, 0}};
  const RequestSource source(5, sequences, 7);
  RequestContent content;
  source.make(1, content);
  EXPECT_EQ(content.tokens.size(), static_cast<std::size_t>(content.lengths[1]));
  EXPECT_EQ(content.more[0].size(), static_cast<std::size_t>(content.lengths[0]));
  EXPECT_NE(content.lengths[0], content.lengths[1]);
  EXPECT_EQ(std::get<SequencesStructure>(structure_of(content)).names[1], "right");
}

TEST(RequestSource, PairedLengthsStayTogether) {
  const LengthSource table = LengthSource::from_table({3, 9, 27}, "a file").value();
  const RequestSource source(5, SequencesSource{table, {"steps", "target"}, {0}, {30, 1, 5}}, 7);
  RequestContent content;
  std::set<std::vector<std::int32_t>> seen;
  for (std::uint64_t index = 0; index < 100; ++index) {
    source.make(index, content);
    EXPECT_EQ(content.tokens.size(), static_cast<std::size_t>(content.lengths[0]))
        << "the other one's rows are made, not given";
    seen.insert(content.lengths);
  }
  EXPECT_EQ(seen, (std::set<std::vector<std::int32_t>>{{3, 30}, {9, 1}, {27, 5}}));
  EXPECT_EQ(source.description(), "pairs of lengths a file");
  EXPECT_EQ(std::get<SequencesStructure>(structure_of(content)).names[1], "target");
}

TEST(RequestSource, WhatIsOfTheWholeRequestHasOneRow) {
  const SequencesSource sequences{LengthSource::fixed(9), {"steps"}, {0, SequencesSource::kOnce}};
  const RequestSource source(5, sequences, 7);
  RequestContent content;
  source.make(1, content);
  EXPECT_EQ(content.tokens.size(), 9U);
  ASSERT_EQ(content.more.size(), 1U);
  EXPECT_EQ(content.more[0].size(), 1U);
}

}  // namespace
}  // namespace volvox
