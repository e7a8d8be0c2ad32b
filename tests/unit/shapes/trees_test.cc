#include "shapes/trees.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> parsed(std::string_view line) {
  const auto parents = parse_tree(line);
  EXPECT_TRUE(parents) << parents.error().message;
  return parents.value_or(std::vector<std::int32_t>{});
}

std::string refusal(std::string_view line) {
  const auto parents = parse_tree(line);
  EXPECT_FALSE(parents) << line;
  return parents ? "" : parents.error().message;
}

TEST(ParseTree, EachPairOfBracketsIsANode) {
  EXPECT_THAT(parsed("(2 word)"), ElementsAre(-1));
  EXPECT_THAT(parsed("(3 (2 It) (4 (2 works) (2 well)))"), ElementsAre(4, 3, 3, 4, -1));
  EXPECT_THAT(parsed("(()(())())"), ElementsAre(4, 2, 4, 4, -1));
  EXPECT_THAT(parsed("  (S (NP caf\xc3\xa9\xc2\xa0x) (VP -LRB- \\/))\r"), ElementsAre(2, 2, -1));
}

TEST(ParseTree, AnythingElseIsRefused) {
  for (const char* bad : {"", "word", "(a) (b)", "(a) b", "(a))", ")"}) {
    EXPECT_THAT(refusal(bad), HasSubstr("one tree in brackets")) << bad;
  }
  EXPECT_THAT(refusal("(a (b)"), HasSubstr("not closed"));
}

// No recursion.
TEST(ParseTree, DepthDoesNoHarm) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string line = std::string(kDepth, '(') + std::string(kDepth, ')');
  EXPECT_EQ(parsed(line).size(), kDepth);
}

class TreeFile : public testing::Test {
 protected:
  ~TreeFile() override { std::remove(path_.c_str()); }
  const std::string& write(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }
  const std::string path_ = testing::TempDir() + "/volvox_trees_test";
};

TEST_F(TreeFile, DrawsItsTrees) {
  const auto source = TreeSource::from_file(write("(a (b) (c))\n(a)\n"));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT(source->description(), HasSubstr("(2 lines)"));
  std::vector<std::int32_t> parents;
  bool small = false, large = false;
  SeededRandom random(1);
  for (int i = 0; i < 50; ++i) {
    source->draw(random, parents);
    small = small || parents.size() == 1;
    large = large || parents.size() == 3;
    EXPECT_TRUE(parents.size() == 1 || parents.size() == 3);
  }
  EXPECT_TRUE(small && large);
}

TEST_F(TreeFile, SaysWhichLineIsNone) {
  EXPECT_THAT(TreeSource::from_file(write("(a)\n(b\n")).error().message,
              HasSubstr(":2: a bracket is not closed"));
  EXPECT_THAT(TreeSource::from_file(write("")).error().message, HasSubstr("holds no trees"));
  EXPECT_THAT(TreeSource::from_file(path_ + ".not").error().message, HasSubstr("cannot read the trees"));
}

std::vector<std::size_t> children_of(const std::vector<std::int32_t>& parents) {
  std::vector<std::size_t> counts(parents.size(), 0);
  for (std::size_t v = 0; v + 1 < parents.size(); ++v) {
    EXPECT_GT(parents[v], static_cast<std::int32_t>(v));
    if (parents[v] > 0) ++counts[static_cast<std::size_t>(parents[v])];
  }
  EXPECT_EQ(parents.back(), -1);
  return counts;
}

TEST(RandomTrees, AreBinaryWithAsManyLeavesAsWanted) {
  const TreeSource source = TreeSource::random(LengthSource::fixed(24));
  SeededRandom random(2);
  std::vector<std::int32_t> parents;
  for (int i = 0; i < 100; ++i) {
    source.draw(random, parents);
    ASSERT_EQ(parents.size(), 47U);
    for (const std::size_t count : children_of(parents)) ASSERT_TRUE(count == 0 || count == 2);
  }
}

TEST(RandomTrees, HaveAnyNumberOfChildrenWhereThatIsAllowed) {
  const TreeSource source = TreeSource::random(LengthSource::fixed(40), 5);
  SeededRandom random(2);
  std::vector<std::int32_t> parents;
  std::vector<bool> seen(7, false);
  for (int i = 0; i < 100; ++i) {
    source.draw(random, parents);
    std::size_t leaves = 0;
    for (const std::size_t count : children_of(parents)) {
      ASSERT_LE(count, 5U);
      seen[count] = true;
      leaves += count == 0 ? 1 : 0;
    }
    ASSERT_EQ(leaves, 40U);
  }
  EXPECT_THAT(seen, ElementsAre(true, true, true, true, true, true, false));
}

}  // namespace
}  // namespace volvox
