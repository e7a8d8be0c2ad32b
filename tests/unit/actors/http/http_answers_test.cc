// What becomes of answers that whoever runs requests has given, and of those that it owes.

#include <gmock/gmock.h>

#include "actors/cluster/routed_models.h"
#include "actors/http/http_front.h"
#include "tests/unit/actors/answering_router.h"
#include "tests/unit/actors/http_house.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The door alone, in front of a router that answers each request with the next of these.
class HttpAnswers : public testing::Test {
 protected:
  void start(ServeConfig config = with_http()) {
    auto front = HttpFront::start(
        config, {router_.system, router_.slot, std::make_shared<Admission>(config, monitor_.requests()),
                 models_, monitor_});
    ASSERT_TRUE(front) << front.error().message;
    front_ = std::move(*front);
  }
  std::string post(const std::string& parameters = "", const std::string& id = "") const {
    std::string body = kBody.substr(1);
    if (!parameters.empty()) body = R"("parameters":{)" + parameters + "}," + body;
    if (!id.empty()) body = R"("id":")" + id + "\"," + body;
    const Connection connection(dial(front_->port()));
    connection.post("/v2/models/check/infer", "{" + body);
    return connection.read_all();
  }
  static Outcome done(std::size_t bytes = 8) {
    Outcome outcome = outcome_of(bytes);
    outcome.session.emplace().id_lo = 99;
    return outcome;
  }

  std::vector<Outcome> outcomes_;  // nobody answers once they are used up
  std::shared_ptr<RoutedModels> models_ = [] {
    ClusterOffer offer;
    offer.model = "check";
    offer.version = 1;
    auto models = std::make_shared<RoutedModels>();
    models->offered({1, 0}, std::vector{offer});
    return models;
  }();
  Monitor monitor_{"test"};
  AnsweringRouter router_{[this](const WorkPtr& work) {
    if (outcomes_.empty()) return;
    work->settle(std::move(outcomes_.front()));
    outcomes_.erase(outcomes_.begin());
  }};
  std::unique_ptr<HttpFront> front_;
};

const std::string kBegin = R"("sequence_id":7,"sequence_start":true)", kGoOn = R"("sequence_id":7)";

// The session has gone on, and its client has no answer: the next part would leave a gap that nobody sees.
TEST_F(HttpAnswers, AResultThatFindsNoMemoryIsAnErrorAndTheSequenceDoesNotGoOn) {
  ServeConfig config = with_http();
  config.http.max_content_mib = 1;
  config.http.max_mib = 17;  // of one content
  start(config);
  outcomes_.push_back(done());
  outcomes_.push_back(done(8 << 20));  // about 24 MiB in figures
  outcomes_.push_back(done());
  EXPECT_THAT(post(kBegin, "a"), StartsWith("HTTP/1.1 200"));
  const std::string refused = post(kGoOn, "b");
  ASSERT_LT(refused.size(), 1000U) << "the result itself";
  expect_error(refused, 429, "OVERLOADED", "ask for binary_data");
  EXPECT_THAT(refused, HasSubstr("\r\nVolvox-Undecided: true\r\n")) << "the part has been done";
  EXPECT_THAT(post(kGoOn, "c"), Not(StartsWith("HTTP/1.1 200")));
}

TEST_F(HttpAnswers, APartThatMayHaveBeenDoneSaysSoAndIsOnlyRepeated) {
  start();
  Outcome nobody_knows;
  nobody_knows.error = Error{ErrorCode::kUnavailable, "its home is gone"};
  nobody_knows.undecided = true;
  outcomes_.push_back(done());
  outcomes_.push_back(nobody_knows);
  outcomes_.push_back(done());
  outcomes_.push_back(nobody_knows);
  outcomes_.push_back(done());
  EXPECT_THAT(post(kBegin, "a"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(post(kGoOn, "b"), HasSubstr("\r\nVolvox-Undecided: true\r\n"));
  EXPECT_THAT(post(kGoOn, "b"), StartsWith("HTTP/1.1 200")) << "the same again";
  EXPECT_THAT(post(kGoOn, "c"), StartsWith("HTTP/1.1 503"));
  expect_error(post(kGoOn, "d"), 410, "SESSION_LOST", "begin it anew");
}

TEST_F(HttpAnswers, ALargeOneIsWhole) {
  start();
  outcomes_.push_back(done(8 * 100'000));
  const std::string answer = post();
  const std::size_t head = answer.find("\r\n\r\n") + 4;
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: " + std::to_string(answer.size() - head) + "\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("}\n"));
  EXPECT_EQ(content_of(answer)["outputs"][0]["data"].size(), 100'000U);
}

// Two outputs whose sizes add up to nothing: no bound is reached, and no string is long enough for one.
TEST_F(HttpAnswers, OneThatCannotBeMadeIsAnErrorAndNothingIsOwed) {
  start();
  Outcome endless = done();
  std::vector<WireTensor> outputs(2, endless.outputs.front());
  outputs[0].bytes = outputs[1].bytes = {outputs[0].bytes.data(), std::size_t{1} << 63};
  endless.outputs = outputs;
  outcomes_.push_back(endless);
  outcomes_.push_back(done());
  expect_error(post(R"("binary_data_output":true)"), 500, "INTERNAL", "see its log");
  EXPECT_EQ(front_->unanswered(), 0U);
  EXPECT_THAT(post(), StartsWith("HTTP/1.1 200"));
}

// A door that stops tells the requests that it knows of; one that is let in at that moment is not among them.
TEST_F(HttpAnswers, ARequestLetInWhileTheOthersAreToldIsToldToo) {
  ServeConfig config = with_http();
  config.http.max_wait_ms = 5000;
  start(config);
  front_->abort_requests();
  expect_error(post(), 503, "UNAVAILABLE", "shut down before");
}

}  // namespace
}  // namespace volvox
