#include "cpu/cells/stages.h"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace volvox::cpu {
namespace {

using Sizes = std::vector<std::size_t>;

TEST(Stages, OneIsEnoughForWhatFits) {
  EXPECT_EQ(cut_stages(Sizes{}, Sizes{}, 10), Sizes{0});
  EXPECT_EQ(cut_stages(Sizes{0, 4, 0, 6}, Sizes{0, 1, 1, 1}, 10), Sizes{0});
}

TEST(Stages, AreCutWhereTheLeastCrosses) {
  EXPECT_EQ(cut_stages(Sizes{4, 2, 2, 2, 6}, Sizes{0, 1, 5, 3, 7}, 10), (Sizes{0, 3}));
  EXPECT_EQ(cut_stages(Sizes{4, 2, 2, 2, 6}, Sizes{0, 1, 5, kNoCut, 7}, 10), (Sizes{0, 2})) << "not there";
  EXPECT_EQ(cut_stages(Sizes{5, 0, 5, 5, 0, 5}, Sizes{0, 2, 2, 2, 2, 2}, 10), (Sizes{0, 3}));
}

TEST(Stages, AnOperatorThatDoesNotFitHasItsOwn) {
  EXPECT_EQ(cut_stages(Sizes{50, 0, 50, 1}, Sizes{0, 8, 1, 8}, 10), (Sizes{0, 2, 3}))
      << "what reads nothing goes with it";
  EXPECT_EQ(cut_stages(Sizes{50, 50}, Sizes{0, kNoCut}, 10), Sizes{0});
  EXPECT_EQ(cut_stages(Sizes{50, 0}, Sizes{0, 1}, 10), Sizes{0}) << "nothing is behind it";
}

TEST(Stages, ASmallOneIsCutOffFromWhatDoesNotFitBesideIt) {
  EXPECT_EQ(cut_stages(Sizes{4, 8}, Sizes{0, 1}, 10), (Sizes{0, 1}));
  EXPECT_EQ(cut_stages(Sizes{4, 0, 0, 8, 5}, Sizes{0, 3, 1, 2, 1}, 10), (Sizes{0, 2, 4}));
}

TEST(Stages, NoneReadsMoreThanItMay) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const std::size_t most = 50;
    Sizes weights(1 + random() % 60), crossing(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = random() % 3 == 0 ? random() % 26 : 0;
      crossing[i] = random() % 8;
    }
    const Sizes begins = cut_stages(weights, crossing, most);
    ASSERT_EQ(begins.front(), 0U);
    for (std::size_t s = 0; s < begins.size(); ++s) {
      const std::size_t end = s + 1 < begins.size() ? begins[s + 1] : weights.size();
      ASSERT_LT(begins[s], end);
      const auto read = std::accumulate(weights.begin() + static_cast<std::ptrdiff_t>(begins[s]),
                                        weights.begin() + static_cast<std::ptrdiff_t>(end), std::size_t{0});
      EXPECT_LE(read, most);
      if (end < weights.size()) {
        EXPECT_GE(2 * read, most) << "too many stages";
      }
    }
  }
}

}  // namespace
}  // namespace volvox::cpu
