#include "loadgen/report/verify.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

TEST(Compare, ToleranceIsRelativeAboveOneAndAbsoluteBelow) {
  EXPECT_EQ(compare_with_reference(Floats{0.5F, 200.0F}, Doubles{0.50009, 200.019}), "");
  EXPECT_NE(compare_with_reference(Floats{0.5F, 200.0F}, Doubles{0.50011, 200.0}), "");
  EXPECT_NE(compare_with_reference(Floats{0.5F, 200.0F}, Doubles{0.5, 200.021}), "");
  EXPECT_EQ(compare_with_reference(Floats{-0.5F}, Doubles{-0.50009}), "");
}

TEST(Compare, OneBadElementAmongMany) {
  Floats answer(1000, 0.25F);
  Doubles reference(1000, 0.25);
  EXPECT_EQ(compare_with_reference(answer, reference), "");
  answer[777] += 0.001F;
  const std::string complaint = compare_with_reference(answer, reference);
  EXPECT_NE(complaint.find("element 777"), std::string::npos) << complaint;
}

TEST(Compare, NotANumberAndWrongSizesAreWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_NE(compare_with_reference(Floats{nan}, Doubles{0.0}), "");
  EXPECT_NE(compare_with_reference(Floats{inf}, Doubles{1.0}), "");
  EXPECT_NE(compare_with_reference(Floats{1.0F}, Doubles{}), "");
  EXPECT_NE(compare_with_reference(Floats{}, Doubles{1.0}), "");
}

TEST(Compare, IntegersMustBeEqual) {
  using Words = std::vector<std::uint64_t>;
  EXPECT_EQ(compare_exactly(Words{1, ~0ULL}, Words{1, ~0ULL}), "");
  EXPECT_NE(compare_exactly(Words{1, ~0ULL}, Words{1, ~0ULL - 1}), "");
  EXPECT_NE(compare_exactly(Words{1}, Words{1, 2}), "");
}

TEST(Samples, KeepsAllThatFit) {
  AnswerSamples samples(10, 1);
  for (std::uint64_t i = 0; i < 7; ++i) samples.offer(i, {});
  EXPECT_EQ(samples.take().size(), 7U);
}

TEST(Samples, AreDrawnFromTheWholeRun) {
  constexpr int kRuns = 400;
  int from_last_half = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    AnswerSamples samples(10, static_cast<std::uint64_t>(seed));
    for (std::uint64_t i = 0; i < 1000; ++i) samples.offer(i, {});
    std::set<std::uint64_t> indices;
    for (const AnswerSample& sample : samples.take()) indices.insert(sample.index);
    EXPECT_EQ(indices.size(), 10U);
    from_last_half +=
        static_cast<int>(std::count_if(indices.begin(), indices.end(), [](auto i) { return i >= 500; }));
  }
  EXPECT_NEAR(from_last_half / (10.0 * kRuns), 0.5, 0.03);
}

TEST(Samples, NoneAreKeptWithoutRoom) {
  AnswerSamples samples(0, 1);
  samples.offer(1, {});
  EXPECT_TRUE(samples.take().empty());
}

// Says that requests whose first token is odd have a wrong answer.
class OddVerifier : public AnswerVerifier {
 public:
  Result<std::string> check(const RequestContent& content, const ReplyBody&) override {
    if (fails) return fail(ErrorCode::kInvalidArgument, "no model");
    return content.tokens[0] % 2 == 0 ? std::string() : std::string("is odd");
  }
  bool fails = false;
};

TEST(Verify, CountsAndMakesTheRequestsAgain) {
  const RequestMix mix(1, {{{.model = "odd"}, {9, LengthSource::fixed(4), 100}}});
  std::vector<AnswerSample> samples;
  std::uint64_t odd = 0;
  RequestContent content;
  for (std::uint64_t i = 0; i < 100; ++i) {
    samples.push_back({i * 13, {}});
    mix.make(i * 13, content);
    odd += static_cast<std::uint64_t>(content.tokens[0] % 2);
  }
  OddVerifier verifier;
  const auto outcome = verify(samples, mix, verifier, {});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->verified, 100U);
  EXPECT_EQ(outcome->wrong, odd);
  EXPECT_GT(odd, 0U);
  EXPECT_NE(outcome->first_wrong.find("is odd"), std::string::npos);
}

TEST(Verify, StopsWhenToldAndPassesErrorsOn) {
  const RequestMix mix(1, {{{.model = "odd"}, {9, LengthSource::fixed(4), 100}}});
  const std::vector<AnswerSample> samples(10);
  OddVerifier verifier;
  const auto stopped = verify(samples, mix, verifier, [](std::size_t done) { return done < 3; });
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->verified, 3U);
  verifier.fails = true;
  EXPECT_FALSE(verify(samples, mix, verifier, {}).has_value());
}

}  // namespace
}  // namespace volvox
