#include "protocol/text.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(CleanText, AcceptsTextInAnyScript) {
  for (const char* text : {"", "lstm", "größe", "Ελληνικά", "中文", "🦠", "a b-c_d/e.f"}) {
    EXPECT_TRUE(is_clean_text(text)) << text;
    EXPECT_EQ(cleaned_text(text, 100), text);
  }
}

TEST(CleanText, RefusesControlCharactersAndMalformedBytes) {
  const std::string_view wrong[] = {"\n",
                                    "\t",
                                    "\x7f",
                                    {"\0", 1},
                                    "\x80",
                                    "\xc0\x80",
                                    "\xc1\xbf",
                                    "\xc2",
                                    "\xc2\x41",
                                    "\xc2\x85",
                                    "\xe0\x80\x80",
                                    "\xe2\x82",
                                    "\xed\xa0\x80",
                                    "\xf0\x80\x80\x80",
                                    "\xf4\x90\x80\x80",
                                    "\xf5\x80\x80\x80",
                                    "\xff"};
  for (const std::string_view text : wrong) {
    EXPECT_FALSE(is_clean_text(text)) << testing::PrintToString(std::string(text));
    EXPECT_TRUE(is_clean_text(cleaned_text(text, 100)));
    EXPECT_FALSE(is_clean_text("ok" + std::string(text)));
  }
}

TEST(CleanText, CutsAtACharacter) {
  EXPECT_EQ(cleaned_text("größe", 3), "gr");
  EXPECT_EQ(cleaned_text("größe", 4), "grö");
  EXPECT_EQ(cleaned_text("abc", 0), "");
  EXPECT_EQ(cleaned_text("a\x80z", 3), "a?z");
}

}  // namespace
}  // namespace volvox
