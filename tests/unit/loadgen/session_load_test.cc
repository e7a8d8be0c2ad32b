#include "loadgen/sessions/session_load.h"

#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/codec/codec.h"
#include "protocol/sockets/edge_socket.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers each part of a session, and what stands alone, with the same output, until it goes.
class SessionServer : public EdgeHandler {
 public:
  SessionServer() {
    come("tcp://127.0.0.1:*");
    endpoint_ = socket_->endpoint();
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        socket_->run_once(milliseconds(20));
        if (leaves_) be_away();
      }
    });
  }

  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte>) override {
    const auto request = decode_request_header(header, limits_);
    if (!request || leaves_) return;
    ++seen;
    if (request->kind != RequestKind::kInfer) return;
    if (request->session) note(*request->session);
    ReplyHeader reply;
    reply.request_id = request->request_id;
    reply.session = request->session;
    const std::vector<std::uint64_t> values{7};
    const WireTensor output = wire_tensor("state", std::span<const std::uint64_t>(values));
    auto encoded = encode_reply_header(reply, limits_);
    auto body = encode_reply_body(std::span(&output, 1), limits_);
    ASSERT_TRUE(encoded.has_value() && body.has_value());
    socket_->post({client, std::move(*encoded), std::move(*body)});
  }
  void on_client_gone(const ClientId&, ClientGone) override {}

  // For good.
  void go() {
    thread_ = std::jthread();
    socket_.reset();
  }

  const std::string& endpoint() const { return endpoint_; }

  std::atomic<bool> away_at_the_end{false};    // is away for a while when a session has ended; once
  std::atomic<int> seen{0}, after_the_end{0};  // messages; parts of sessions that had ended

 private:
  void come(const std::string& endpoint) {
    auto socket = EdgeSocket::open({}, *this);
    ASSERT_TRUE(socket.has_value());
    socket_ = std::move(*socket);
    ASSERT_TRUE(socket_->bind(endpoint).has_value());
  }

  // What was answered before still leaves; nothing else is heard.
  void be_away() {
    while (socket_->unsent() > 0) socket_->run_once(milliseconds(20));
    socket_.reset();
    std::this_thread::sleep_for(milliseconds(200));
    come(endpoint_);
    leaves_ = false;
  }

  void note(const WireSessionToken& token) {
    if (ended_.contains(token.nonce)) ++after_the_end;
    if (token.operation != SessionOperation::kEnd) return;
    ended_.insert(token.nonce);
    leaves_ = away_at_the_end.exchange(false);
  }

  WireLimits limits_;
  std::string endpoint_;
  std::set<std::uint64_t> ended_;
  bool leaves_ = false;
  std::unique_ptr<EdgeSocket> socket_;
  std::jthread thread_;
};

SessionLoadPlan plan_against(const SessionServer& server) {
  SessionLoadPlan plan;
  plan.endpoint = server.endpoint();
  plan.model = "m";
  plan.sessions = 4;
  plan.parts = 3;
  plan.pause = milliseconds(1);
  plan.measured = milliseconds(300);
  plan.timeout = milliseconds(300);
  return plan;
}

// What comes of a load whose server goes while it runs.
SessionLoadReport left_alone(SessionServer& server, const SessionLoadPlan& plan, std::stop_source stop = {}) {
  auto load = std::async(std::launch::async,
                         [&] { return run_session_load(plan, LengthSource::fixed(3), stop.get_token()); });
  while (server.seen == 0 && load.wait_for(milliseconds(1)) != std::future_status::ready) continue;
  server.go();
  if (plan.measured > seconds(60)) stop.request_stop();
  // One that does not end cannot be left behind, either.
  if (load.wait_for(seconds(30)) != std::future_status::ready) std::abort();
  const auto report = load.get();
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return report.value();
}

TEST(SessionLoad, EndsWhenItsServerHasGone) {
  for (const bool bundles : {false, true}) {
    SessionServer server;
    SessionLoadPlan plan = plan_against(server);
    plan.repeats = 1;
    plan.bundles = bundles;
    SessionLoadReport report = left_alone(server, plan);
    // A session tries once in 20 ms, with a part and its repetition; at first both were under way.
    const double tries = report.seconds / 0.02 + 2;
    const auto errors = static_cast<double>(report.errors["UNAVAILABLE"]);
    EXPECT_GT(errors, 0) << bundles;
    EXPECT_LE(errors, 2 * plan.sessions * tries) << bundles;
  }
}

TEST(SessionLoad, EndsWhenItIsStoppedAndItsServerHasGone) {
  SessionServer server;
  SessionLoadPlan plan = plan_against(server);
  plan.measured = seconds(600);
  EXPECT_LT(left_alone(server, plan).seconds, 30);
}

TEST(SessionLoad, DoesNotWaitForSessionsThatRest) {
  for (const bool stopped : {false, true}) {
    SessionServer server;
    SessionLoadPlan plan = plan_against(server);
    plan.pause = seconds(600);
    if (stopped) plan.measured = seconds(3600);
    std::stop_source stop;
    auto load = std::async(std::launch::async,
                           [&] { return run_session_load(plan, LengthSource::fixed(3), stop.get_token()); });
    while (server.seen == 0 && load.wait_for(milliseconds(1)) != std::future_status::ready) continue;
    if (stopped) stop.request_stop();
    if (load.wait_for(seconds(60)) != std::future_status::ready) std::abort();
    const auto report = load.get();
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_GT(report->ended, 0U) << stopped;
    EXPECT_EQ(report->verified, report->ended) << stopped;
  }
}

TEST(SessionLoad, ComparesASessionThatEndedJustBeforeItsServerWasAway) {
  SessionServer server;
  server.away_at_the_end = true;
  SessionLoadPlan plan = plan_against(server);
  plan.sessions = 1;
  plan.measured = seconds(1);
  plan.timeout = seconds(10);
  const auto report = run_session_load(plan, LengthSource::fixed(3), {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->errors.contains("UNAVAILABLE")) << "it was away";
  EXPECT_EQ(server.after_the_end, 0) << "what has ended does not go on";
  EXPECT_GT(report->ended, 0U);
  EXPECT_EQ(report->verified, report->ended);
  EXPECT_EQ(report->wrong, 0U);
}

}  // namespace
}  // namespace volvox
