#include "cli/vocabulary.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class VocabularyFile : public testing::Test {
 protected:
  Result<Vocabulary> read(const std::string& text) const {
    const auto path = folder_.path() / "words.txt";
    std::ofstream(path, std::ios::binary) << text;
    return Vocabulary::from_file(path.string());
  }
  const testing_cells::TemporaryFolder folder_;
};

TEST_F(VocabularyFile, AWordsIdIsItsLine) {
  const auto known = read("the\r\ncat\n<unk>\nsat");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_THAT(known->ids({"cat", "the", "dog", "sat"}).value(), ElementsAre(1, 0, 2, 3));
}

TEST_F(VocabularyFile, WordsItHasNotAreRefusedByName) {
  EXPECT_THAT(read("the\ncat\n")->id("dog").error().message, HasSubstr("no 'dog', and no <unk>"));
}

TEST_F(VocabularyFile, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(read("the\ncat\nthe\n").error().message, HasSubstr("words.txt:3: 'the' comes twice"));
  EXPECT_THAT(read("").error().message, HasSubstr("holds no words"));
  EXPECT_THAT(Vocabulary::from_file((folder_.path() / "none").string()).error().message,
              HasSubstr("cannot read"));
}

TEST(Vocabulary, WithoutAFileWordsAreIds) {
  const Vocabulary numbers = Vocabulary::of_numbers();
  EXPECT_THAT(numbers.ids({"12", "-7"}).value(), ElementsAre(12, -7));
  for (const char* wrong : {"", "twelve", "12x", "1.5", "2147483648"})
    EXPECT_FALSE(numbers.id(wrong)) << wrong;
}

TEST(Text, IsCutIntoWordsAndCharacters) {
  EXPECT_THAT(words_of("  It\tworks \n"), ElementsAre("It", "works"));
  EXPECT_THAT(words_of(" "), ElementsAre());
  EXPECT_THAT(characters_of("a\xc3\xa4\xe5\x8d\x97\xf0\x9f\x98\x80").value(),
              ElementsAre("a", "\xc3\xa4", "\xe5\x8d\x97", "\xf0\x9f\x98\x80"));
  for (const char* wrong : {"\x80", "\xc3", "\xe5\x8d", "\xff", "a\xf0\x9f\x98"})
    EXPECT_FALSE(characters_of(wrong));
}

}  // namespace
}  // namespace volvox
