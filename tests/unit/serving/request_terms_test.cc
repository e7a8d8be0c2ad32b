#include "serving/request_terms.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr PriorityChoice kSaysHigh = PriorityChoice::kHigh, kSaysNormal = PriorityChoice::kNormal,
                         kSaysLow = PriorityChoice::kLow;

ModelSection table(std::string name, std::uint32_t usual_ms, std::uint32_t longest_ms,
                   PriorityChoice priority = kSaysNormal) {
  ModelSection section;
  section.name = std::move(name);
  section.default_deadline_ms = usual_ms;
  section.max_deadline_ms = longest_ms;
  section.priority = priority;
  return section;
}

const std::vector<ModelSection> kModels{table("usual", 20, 0), table("both", 20, 50), table("longest", 0, 50),
                                        table("low", 0, 0, kSaysLow)};

std::uint64_t deadline(const char* model, std::uint64_t asked_us) {
  return terms_of(kModels, model, {asked_us, kSaysNormal}).deadline_us;
}

TEST(RequestTerms, AModelWithoutATableChangesNothing) {
  const RequestTerms asked{12'345, kSaysHigh};
  EXPECT_EQ(terms_of(kModels, "other", asked), asked);
  EXPECT_EQ(terms_of({}, "usual", asked), asked);
}

TEST(RequestTerms, AModelsDeadlineIsForWhoAsksForNone) {
  EXPECT_EQ(deadline("usual", 0), 20'000U);
  EXPECT_EQ(deadline("usual", 90'000'000), 90'000'000U);
  EXPECT_EQ(deadline("both", 0), 20'000U);
}

TEST(RequestTerms, TheLongestDeadlineBoundsAll) {
  EXPECT_EQ(deadline("both", 49'999), 49'999U);
  EXPECT_EQ(deadline("both", 50'001), 50'000U);
  EXPECT_EQ(deadline("longest", 0), 50'000U);
  EXPECT_EQ(deadline("low", 0), 0U) << "none";
}

TEST(RequestTerms, AModelsPriorityIsForWhoHasNoWish) {
  EXPECT_EQ(terms_of(kModels, "low", {0, kSaysNormal}).priority, kSaysLow);
  EXPECT_EQ(terms_of(kModels, "low", {0, kSaysHigh}).priority, kSaysHigh);
  EXPECT_EQ(terms_of(kModels, "usual", {0, kSaysLow}).priority, kSaysLow);
}

}  // namespace
}  // namespace volvox
