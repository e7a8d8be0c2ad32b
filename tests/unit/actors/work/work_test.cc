#include "actors/work/work.h"

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/actors/stage.h"
#include "tests/unit/base/failing_new.h"

namespace volvox {
namespace {

// Collects the outcomes that it is sent.
caf::actor collector(Stage& stage, std::vector<Outcome>& outcomes) {
  return stage.system.spawn([&outcomes](caf::event_based_actor*) -> caf::behavior {
    return {[&outcomes](const FinishRequest& finish) { outcomes.push_back(finish.outcome); }};
  });
}

TEST(Work, WhoeverLosesItAnswersInternal) {
  Stage stage;
  std::vector<Outcome> outcomes;
  {
    const caf::actor actor = collector(stage, outcomes);
    { const Work work(request_with(1), actor); }
    stage.run();
    ASSERT_EQ(outcomes.size(), 1U);
    ASSERT_TRUE(outcomes[0].error);
    EXPECT_EQ(outcomes[0].error->code, ErrorCode::kInternal);
  }
}

// Whoever could not make it answers.
TEST(Work, OneThatCouldNotBeMadeAnswersNobody) {
  if (!test::FailingNew::kWorks) GTEST_SKIP() << "a sanitizer finds memory always";
  Stage stage;
  std::vector<Outcome> outcomes;
  {
    const caf::actor actor = collector(stage, outcomes);
    const RequestPtr request = request_with(1);
    {
      const test::FailingNew failing(0);
      EXPECT_THROW(std::make_shared<Work>(request, actor), std::bad_alloc);
    }
    stage.run();
  }
  EXPECT_TRUE(outcomes.empty());
}

TEST(Work, IsSettledOnce) {
  Stage stage;
  std::vector<Outcome> outcomes;
  {
    const caf::actor actor = collector(stage, outcomes);
    {
      Work work(request_with(1), actor);
      work.settle(Error{ErrorCode::kOverloaded, "first"}, 5);
      work.settle(Error{ErrorCode::kInternal, "second"});
    }
    stage.run();
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_EQ(outcomes[0].error->message, "first");
    EXPECT_EQ(outcomes[0].retry_after_us, 5U);
  }
}

// As a session does, whose part runs on after its client was answered.
TEST(Work, WhatItPassedOnIsNotItsOwnToKeep) {
  Stage stage;
  std::vector<Outcome> outcomes;
  {
    const caf::actor actor = collector(stage, outcomes);
    Work work(request_with(1), actor);
    AnswerPromise answer = work.pass_on_answer();
    EXPECT_TRUE(work.settled());
    EXPECT_EQ(work.request().key, 1U);
    work.settle(Error{ErrorCode::kInternal, "not its own"});
    AnswerPromise other(request_with(2), actor);
    other = std::move(answer);
    stage.run();
    ASSERT_EQ(outcomes.size(), 1U) << "the one that another took the place of is lost";
    EXPECT_EQ(outcomes[0].error->code, ErrorCode::kInternal);
    other.keep(Outcome{});
  }
  stage.run();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_FALSE(outcomes[1].error);
}

TEST(Work, GivesItsBytesBack) {
  Stage stage;
  std::vector<Outcome> outcomes;
  {
    const auto budget = std::make_shared<ByteBudget>(100);
    const caf::actor actor = collector(stage, outcomes);
    {
      Work first(request_with(1), actor), second(request_with(2), actor);
      EXPECT_TRUE(first.reserve(budget, 70));
      EXPECT_FALSE(second.reserve(budget, 31));
      EXPECT_TRUE(second.reserve(budget, 30));
    }
    EXPECT_TRUE(budget->take(100));
    EXPECT_FALSE(budget->take(1));
    stage.run();
  }
}

}  // namespace
}  // namespace volvox
