#include "shapes/lattices.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace volvox {
namespace {

using testing::HasSubstr;

TEST(ParseLattice, ReadsCharactersAndWords) {
  EXPECT_EQ(parse_lattice(R"({"chars": 5, "words": [[0, 2], [1, 5]], "text": "x"})").value(),
            (LatticeShape{5, {0, 1}, {2, 5}}));
  EXPECT_EQ(parse_lattice(R"({"chars": 1, "words": []})").value(), (LatticeShape{1, {}, {}}));
}

TEST(ParseLattice, RefusesAllElse) {
  for (const char* line :
       {"", "[]", "{", "7", R"({"chars": 5})", R"({"words": []})", R"({"chars": 0, "words": []})",
        R"({"chars": -1, "words": []})", R"({"chars": 1048577, "words": []})",
        R"({"chars": 2.5, "words": []})", R"({"chars": 5, "words": 3})", R"({"chars": 5, "words": [3]})",
        R"({"chars": 5, "words": [[0, 1]]})", R"({"chars": 5, "words": [[3, 6]]})",
        R"({"chars": 5, "words": [[-1, 2]]})", R"({"chars": 5, "words": [[4, 2]]})",
        R"({"chars": 5, "words": [[0, 2, 3]]})", R"({"chars": 5, "words": [["a", 2]]})"})
    EXPECT_FALSE(parse_lattice(line)) << line;
}

TEST(LatticeSource, ErrorsNameTheLine) {
  const auto path = std::filesystem::temp_directory_path() / ("lattices" + std::to_string(getpid()));
  std::ofstream(path) << "{\"chars\": 3, \"words\": []}\nwrong\n";
  EXPECT_THAT(LatticeSource::from_file(path.string()).error().message, HasSubstr(":2: expected a lattice"));
  std::ofstream(path) << "{\"chars\": 3, \"words\": [[1, 3]]}\n";
  const auto source = LatticeSource::from_file(path.string());
  ASSERT_TRUE(source) << source.error().message;
  SeededRandom random(1);
  EXPECT_EQ(source->draw(random), (LatticeShape{3, {1}, {3}}));
  std::filesystem::remove(path);
  EXPECT_FALSE(LatticeSource::from_file(path.string()));
}

TEST(LatticeSource, RandomOnesAreWhole) {
  const auto source = LatticeSource::random(LengthSource::built_in());
  SeededRandom random(1);
  std::size_t words = 0, characters = 0;
  for (int i = 0; i < 300; ++i) {
    const LatticeShape lattice = source.draw(random);
    words += lattice.starts.size();
    characters += lattice.length;
    for (std::size_t word = 0; word < lattice.starts.size(); ++word) {
      EXPECT_GE(lattice.starts[word], 0);
      EXPECT_GE(lattice.ends[word], lattice.starts[word] + 2);
      EXPECT_LE(lattice.ends[word], lattice.starts[word] + 4);
      EXPECT_LE(lattice.ends[word], static_cast<std::int32_t>(lattice.length));
    }
  }
  EXPECT_NEAR(static_cast<double>(words) / static_cast<double>(characters), 0.48, 0.05);
}

}  // namespace
}  // namespace volvox
