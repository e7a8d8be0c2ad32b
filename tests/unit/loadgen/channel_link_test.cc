#include "loadgen/link/channel_link.h"

#include <gtest/gtest.h>

#include "loadgen/report/report.h"
#include "loadgen/report/verify.h"
#include "loadgen/run/run.h"
#include "tests/unit/loadgen/sum_server.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ChannelLoad : public testing::Test {
 protected:
  ChannelLoad() {
    plan_.rate = 2000;
    plan_.requests = 400;
    plan_.samples = 1000;
    plan_.timeout = seconds(5);
  }

  LoadSummary run() {
    const RequestMix mix(
        1, {{{.model = "sums", .input = "tokens", .priorities = {1, 0, 0}, .deadline = milliseconds(1500)},
             source_}});
    LoadSummary report;
    auto outcome = run_load(plan_, mix, [&] { return ChannelLink::open(server_.endpoint(), mix); }, {}, {});
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    if (!outcome) return report;
    report.outcome = std::move(*outcome);
    SumVerifier verifier;
    report.verification = verify(report.outcome.samples, mix, verifier, {}).value();
    return report;
  }

  SumServer server_;
  LoadPlan plan_;
  RequestSource source_{3, LengthSource::built_in(), 1000};
};

TEST_F(ChannelLoad, EverythingComesBackRight) {
  const LoadSummary report = run();
  EXPECT_EQ(report.outcome.tally.offered, 400U);
  EXPECT_EQ(report.outcome.tally.completed, 400U);
  EXPECT_EQ(report.verification.verified, 400U);
  EXPECT_EQ(report.verification.wrong, 0U);
  EXPECT_EQ(report.outcome.tally.duplicates, 0U);
  EXPECT_EQ(report.outcome.tally.queue.max(), std::chrono::microseconds(100));
  EXPECT_EQ(report.outcome.tally.compute.max(), std::chrono::microseconds(200));
  EXPECT_TRUE(is_good(report));
  EXPECT_EQ(server_.last_priority.load(), static_cast<int>(WirePriority::kHigh));
  EXPECT_EQ(server_.last_deadline_us.load(), 1500000U);
}

TEST_F(ChannelLoad, ClosedLoopOverSeveralConnections) {
  plan_.arrivals = Arrivals::kClosed;
  plan_.concurrency = 16;
  plan_.connections = 2;
  plan_.requests = 3000;
  const LoadSummary report = run();
  EXPECT_EQ(report.outcome.tally.completed, 3000U);
  EXPECT_EQ(report.verification.verified, 1000U);
  EXPECT_TRUE(is_good(report));
}

TEST_F(ChannelLoad, WrongAnswersAreSeen) {
  server_.spoil_every = 100;
  const LoadSummary report = run();
  EXPECT_EQ(report.verification.wrong, 4U);
  EXPECT_FALSE(is_good(report));
}

TEST_F(ChannelLoad, SecondAnswersAreSeen) {
  server_.repeat_every = 100;
  const LoadSummary report = run();
  EXPECT_EQ(report.outcome.tally.duplicates, 4U);
  EXPECT_EQ(report.outcome.tally.completed, 400U);
}

TEST_F(ChannelLoad, RefusalsAreCountedByCode) {
  server_.refuse_every = 10;
  const LoadSummary report = run();
  EXPECT_EQ(report.outcome.tally.errors.at("OVERLOADED"), 40U);
  EXPECT_EQ(report.outcome.tally.completed, 360U);
}

}  // namespace
}  // namespace volvox
