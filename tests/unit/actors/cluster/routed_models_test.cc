#include "actors/cluster/routed_models.h"

#include <gmock/gmock.h>

#include "base/clock.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ClusterOffer offer(const std::string& model, std::uint32_t version) {
  ClusterOffer offer;
  offer.model = model;
  offer.version = version;
  offer.inputs = {{"tokens", WireType::kI32, {-1}}};
  offer.outputs = {{"h", WireType::kF32, {-1, 8}}};
  return offer;
}

std::string error_of(const RoutedModels& models, std::string_view name, std::uint32_t version = 0) {
  const auto found = models.find(name, version);
  if (found) return "";
  // The word of a router that has just started is not the last.
  const bool any = found.error().message.find("yet") == std::string::npos;
  EXPECT_EQ(found.error().code, any ? ErrorCode::kModelNotFound : ErrorCode::kUnavailable);
  return found.error().message;
}

TEST(RoutedModels, AreKnownWhileANodeOffersThem) {
  RoutedModels models;
  EXPECT_THAT(error_of(models, "m"), HasSubstr("no node offers a model yet"));
  models.offered({1, 0}, std::vector{offer("m", 1), offer("m", 2)});
  models.offered({2, 0}, std::vector{offer("m", 1), offer("n", 7)});
  EXPECT_THAT(error_of(models, "x"), HasSubstr("does not know all of its nodes yet"));
  models.settle();
  EXPECT_EQ(models.find("m", 0)->version, 2U);
  EXPECT_EQ(models.find("m", 1)->version, 1U);
  EXPECT_EQ(models.find("n", 0)->version, 7U);
  EXPECT_EQ(models.find("m", 0)->installed, nullptr);
  EXPECT_THAT(error_of(models, "m", 3), HasSubstr("there are 1, 2"));
  EXPECT_THAT(error_of(models, "x"), HasSubstr("there are 'm', 'n'"));
  models.left({1, 0});
  EXPECT_EQ(models.find("m", 0)->version, 1U);
  // It joins anew with what it has now.
  models.offered({2, 0}, std::vector{offer("n", 8)});
  EXPECT_THAT(error_of(models, "m"), HasSubstr("there are 'n'"));
  EXPECT_EQ(models.find("n", 0)->version, 8U);
  models.left({2, 0});
  models.left({2, 0});
  EXPECT_THAT(error_of(models, "n"), HasSubstr("no node offers a model yet"));
}

TEST(RoutedModels, TheNewestIsOneThatANodeTakesRequestsFor) {
  RoutedModels models;
  models.offered({1, 0}, std::vector{offer("m", 1), offer("m", 2)});
  models.offered({2, 0}, std::vector{offer("m", 1)});
  models.takes_work({1, 0}, false);
  EXPECT_EQ(models.find("m", 0)->version, 1U);
  EXPECT_EQ(models.find("m", 2)->version, 2U) << "a sequence that began with it";
  models.takes_work({2, 0}, false);
  EXPECT_EQ(models.find("m", 0)->version, 2U) << "none of them is better";
  models.takes_work({1, 0}, true);
  EXPECT_EQ(models.find("m", 0)->version, 2U);
  models.clear();
  EXPECT_THAT(error_of(models, "m"), HasSubstr("no node offers a model yet"));
}

TEST(RoutedModels, SayWhatTheyTakeAndGive) {
  RoutedModels models;
  models.offered({1, 0}, std::vector{offer("m", 1), offer("m", 2)});
  const V2ModelMetadata metadata = models.metadata(*models.find("m", 0));
  EXPECT_EQ(metadata.name, "m");
  EXPECT_THAT(metadata.versions, ElementsAre(1U, 2U));
  ASSERT_EQ(metadata.inputs.size(), 1U);
  EXPECT_EQ(metadata.inputs[0].name, "tokens");
  EXPECT_EQ(metadata.inputs[0].type, WireType::kI32);
  ASSERT_EQ(metadata.outputs.size(), 1U);
  EXPECT_THAT(metadata.outputs[0].shape, ElementsAre(-1, 8));
}

TEST(RoutedModels, CountWhatNodesAnswered) {
  RoutedModels models;
  models.offered({1, 0}, std::vector{offer("m", 1), offer("m", 2)});
  IncomingRequest request;
  request.header.model = "m";
  request.arrival = steady_now() - std::chrono::milliseconds(5);
  Outcome outcome;
  outcome.queue_us = 10;
  outcome.compute_us = 20;
  models.answered(request, 0, outcome);  // the newest
  models.answered(request, 1, outcome);
  request.header.model_version = 1;
  outcome.error = Error{ErrorCode::kInternal, "broken"};
  models.answered(request, 0, outcome);
  request.header.model = "nobody";
  models.answered(request, 0, outcome);
  const V2Statistics first = models.statistics(*models.find("m", 1));
  EXPECT_EQ(first.version, 1U);
  EXPECT_EQ(first.success.count, 1U);
  EXPECT_GE(first.success.ns, 5'000'000U);
  EXPECT_EQ(first.queue.ns, 10'000U);
  EXPECT_EQ(first.compute.ns, 20'000U);
  EXPECT_EQ(first.fail.count, 1U);
  EXPECT_EQ(models.statistics(*models.find("m", 2)).success.count, 1U);
}

TEST(RoutedModels, WhatWasGivenUpCountsAsThatWhateverTheNodeSaysLater) {
  RoutedModels models;
  models.offered({1, 0}, std::vector{offer("m", 1)});
  IncomingRequest request;
  request.header.model = "m";
  request.end.give_up(ErrorCode::kCancelled);
  models.answered(request, 0, {});
  const auto all = models.requests();
  ASSERT_EQ(all.size(), 1U);
  const auto& outcomes = all[0].doors[static_cast<std::size_t>(request.door)].outcomes;
  EXPECT_EQ(outcomes[static_cast<std::size_t>(ErrorCode::kCancelled)], 1U);
  EXPECT_EQ(models.statistics(*models.find("m", 1)).success.count, 0U);
}

// Whoever asks for sums sees them grow, whatever nodes come and go.
TEST(RoutedModels, WhatWasCountedOutlivesTheOnlyNode) {
  RoutedModels models;
  models.offered({1, 0}, std::vector{offer("m", 1), offer("n", 1)});
  IncomingRequest request;
  request.header.model = "m";
  models.answered(request, 0, {});
  models.offered({1, 0}, std::vector{offer("m", 1)});
  EXPECT_EQ(models.statistics(*models.find("m", 1)).success.count, 1U) << "it offers less now";
  models.left({1, 0});
  EXPECT_THAT(error_of(models, "m"), HasSubstr("no node offers a model yet"));
  models.offered({1, 1}, std::vector{offer("m", 1)});
  EXPECT_EQ(models.statistics(*models.find("m", 1)).success.count, 1U) << "it is back";
  for (std::uint32_t i = 0; i < 400; ++i) models.offered({1, 1}, std::vector{offer("m", i + 2)});
  models.offered({1, 1}, std::vector{offer("m", 1)});
  EXPECT_EQ(models.statistics(*models.find("m", 1)).success.count, 0U) << "what is remembered is bounded";
}

TEST(RoutedModels, TheOnlyNodesNewOfferCounts) {
  RoutedModels models;
  models.offered({1, 0}, std::vector{offer("m", 1)});
  ClusterOffer changed = offer("m", 1);
  changed.inputs.clear();
  models.offered({1, 0}, std::vector{changed});
  EXPECT_TRUE(models.metadata(*models.find("m", 1)).inputs.empty());
}

}  // namespace
}  // namespace volvox
