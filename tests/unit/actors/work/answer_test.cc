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
ModelPtr model_of_one_lane(bool reversed) {
  auto model = std::make_shared<Model>();
  OutputSpec output;
  output.name = "h";
  output.shape = {1};
  output.every = true;
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
  void begin(bool reversed) {
    const auto request = new_request(1);
    request->header.stream = true;
    client_ = stage_.system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const PartialResult& partial) { rows_.push_back(partial.index); },
              [](const FinishRequest&) {}};
    });
    work_ = std::make_shared<Work>(request, client_);
    CheckedJob job;
    job.model = model_of_one_lane(reversed);
    job.lengths = {3};
    job.wanted = {0};
    work_->unfolded.emplace();
    work_->unfolded->results = host_results(output_bytes(*job.model, job.lengths)).value();
    work_->checked = std::make_shared<const CheckedJob>(std::move(job));
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

}  // namespace
}  // namespace volvox
