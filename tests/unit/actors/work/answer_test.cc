#include "actors/work/answer.h"

#include <vector>

#include <gmock/gmock.h>

#include "device/host_memory.h"
#include "tests/unit/actors/stage.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// One output with a row for every step, which one lane writes.
ModelPtr model_of_one_lane(bool reversed, std::uint32_t fewer) {
  auto model = std::make_shared<Model>();
  OutputSpec output;
  output.name = "h";
  output.shape = {1};
  output.every = true;
  output.fewer = fewer;
  model->outputs.push_back(output);
  auto installed = std::make_shared<InstalledModel>();
  installed->model = std::move(model);
  LaneSpec lane;
  lane.reversed = reversed;
  lane.pushes[0] = {0, true};
  installed->plan.lanes.push_back(lane);
  return installed;
}

class StreamedAnswer : public testing::Test {
 protected:
  void begin(bool reversed, std::uint32_t fewer = 0) {
    const auto request = new_request(1);
    request->header.stream = true;
    client_ = stage_.system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const PartialResult& partial) { rows_.push_back(partial.index); },
              [](const FinishRequest&) {}};
    });
    work_ = std::make_shared<Work>(request, client_);
    CheckedJob job;
    job.model = model_of_one_lane(reversed, fewer);
    job.lengths = {3};
    job.wanted = {0};
    work_->unfolded.emplace();
    work_->unfolded->results = host_results(output_bytes(*job.model, job.lengths)).value();
    work_->checked.emplace(std::move(job));
    ASSERT_TRUE(begin_stream(*work_));
  }
  void TearDown() override {
    work_->settle(Outcome{});
    work_ = nullptr;
    client_ = nullptr;
    stage_.run();
  }
  void steps_done(std::uint32_t steps) {
    advance_stream(work_, 0, steps);
    stage_.run();
  }

  Stage stage_;
  std::vector<std::uint32_t> rows_;
  caf::actor client_;
  WorkPtr work_;
};

TEST_F(StreamedAnswer, SendsEachRowWhenItsStepIsDone) {
  begin(false);
  steps_done(2);
  EXPECT_THAT(rows_, ElementsAre(0, 1));
  steps_done(3);
  EXPECT_THAT(rows_, ElementsAre(0, 1, 2));
}

TEST_F(StreamedAnswer, SendsNoRowThatALaneFromTheEndHasNotWritten) {
  begin(true);
  steps_done(2);
  EXPECT_THAT(rows_, IsEmpty());
  steps_done(3);
  EXPECT_THAT(rows_, ElementsAre(0, 1, 2));
}

TEST_F(StreamedAnswer, SendsNoRowThatTheLastStepsDoNotHave) {
  begin(false, 2);
  steps_done(1);
  EXPECT_THAT(rows_, ElementsAre(0));
  steps_done(3);
  EXPECT_THAT(rows_, ElementsAre(0));
}

TEST_F(StreamedAnswer, NorHasTheWholeAnswerOne) {
  begin(true, 1);
  steps_done(3);
  EXPECT_THAT(rows_, ElementsAre(0, 1));
  const auto request = new_request(1);
  const auto whole = std::make_shared<Work>(request, client_);
  whole->checked.emplace(*work_->checked);
  whole->unfolded.emplace();
  whole->unfolded->results = host_results(output_bytes(*work_->checked->model, {3})).value();
  whole->end.emplace().lengths = {3};
  const Outcome outcome = whole_answer(whole);
  ASSERT_EQ(outcome.outputs.size(), 1U);
  EXPECT_EQ(outcome.outputs[0].shape[0], 2);
  EXPECT_EQ(outcome.outputs[0].bytes.size(), 2 * sizeof(float));
  whole->settle(Outcome{});
}

}  // namespace
}  // namespace volvox
