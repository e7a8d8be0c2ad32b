#include "loadgen/requests/request_mix.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

RequestClass chains(std::string model, double weight) {
  return {{.model = std::move(model)}, {3, LengthSource::fixed(4), 50}, weight};
}

RequestClass trees(std::string model, double weight) {
  return {{.model = std::move(model)}, {3, TreeSource::random(LengthSource::fixed(5)), 50}, weight};
}

TEST(RequestMix, ClassesComeByTheirWeights) {
  const RequestMix mix(7, {chains("a", 6), trees("b", 3), chains("c", 1)});
  std::vector<int> counts(3);
  RequestContent content;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    mix.make(i, content);
    ++counts[content.of_class];
  }
  EXPECT_NEAR(counts[0], 6000, 200);
  EXPECT_NEAR(counts[1], 3000, 200);
  EXPECT_NEAR(counts[2], 1000, 150);
}

TEST(RequestMix, ARequestIsAFunctionOfItsIndexWhateverWasMadeBefore) {
  const RequestMix mix(7, {chains("a", 1), trees("b", 1)}), same(7, {chains("a", 1), trees("b", 1)});
  RequestContent reused;
  int with_parents = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    mix.make(i, reused);
    RequestContent fresh;
    same.make(i, fresh);
    EXPECT_EQ(reused, fresh) << i;
    EXPECT_EQ(reused.parents.empty(), reused.of_class == 0) << i;
    with_parents += reused.parents.empty() ? 0 : 1;
  }
  EXPECT_GT(with_parents, 50);
}

TEST(RequestMix, OneClassSaysWhatItsSourceSays) {
  const RequestClass only = chains("a", 1);
  const RequestMix mix(7, {only});
  RequestContent content, expected;
  for (std::uint64_t i = 0; i < 20; ++i) {
    mix.make(i, content);
    only.source.make(i, expected);
    EXPECT_EQ(content, expected);
  }
}

TEST(RequestMix, SaysWhatItIsOf) {
  RequestClass versioned = trees("b", 1);
  versioned.common.model_version = 3;
  const RequestMix mix(7, {chains("a", 1), versioned, chains("a", 2)});
  EXPECT_EQ(mix.models(), "a, b/3");
  EXPECT_EQ(mix.description(), "lengths fixed 4, random trees, leaves fixed 5");
}

TEST(RequestMix, WhatMakesNoSenseIsRefused) {
  EXPECT_TRUE(check_mix(RequestMix(1, {chains("a", 1)})).has_value());
  EXPECT_FALSE(check_mix(RequestMix(1, {})).has_value());
  EXPECT_FALSE(check_mix(RequestMix(1, std::vector<RequestClass>(65, chains("a", 1)))).has_value());
  EXPECT_FALSE(check_mix(RequestMix(1, {chains("", 1)})).has_value());
  const auto refused = [](auto change) {
    RequestClass one = chains("a", 1);
    change(one);
    return !check_mix(RequestMix(1, {one}));
  };
  EXPECT_TRUE(refused([](RequestClass& one) { one.weight = 0; }));
  EXPECT_TRUE(refused([](RequestClass& one) { one.weight = std::numeric_limits<double>::infinity(); }));
  EXPECT_TRUE(refused([](RequestClass& one) { one.common.cancel_fraction = 1.5; }));
  EXPECT_TRUE(refused([](RequestClass& one) { one.common.cancel_after = Duration(-1); }));
  EXPECT_TRUE(refused([](RequestClass& one) { one.common.deadline = Duration(-1); }));
}

TEST(RequestMix, NumbersThatCouldNotTravelAreRefused) {
  const auto taken = [](const LengthSource& lengths, std::vector<std::uint32_t> row_shape,
                        std::uint32_t traced) {
    const RequestClass one{{.model = "m"}, {3, lengths, 50, {}, std::move(row_shape)}};
    const auto trace = std::make_shared<const Trace>(Trace{{Duration(0), 0, traced}});
    return check_mix(RequestMix(1, {one}, traced > 0 ? trace : nullptr)).has_value();
  };
  const LengthSource few = LengthSource::fixed(4), many = LengthSource::fixed(1U << 20);
  EXPECT_TRUE(taken(many, {}, 0));
  EXPECT_TRUE(taken(many, {4}, 0)) << "16 MiB";
  EXPECT_FALSE(taken(many, {5}, 0));
  EXPECT_FALSE(taken(many, {1U << 12, 1U << 12}, 0)) << "64 TiB";
  EXPECT_TRUE(taken(few, {1024, 1024}, 0));
  EXPECT_TRUE(taken(few, {1024, 1024}, 3));
  EXPECT_FALSE(taken(few, {1024, 1024}, 5)) << "of the trace";
}

}  // namespace
}  // namespace volvox
