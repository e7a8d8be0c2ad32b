#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

#include "actors/process/router_server.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

void hurt_if_poisoned(const IncomingRequest& request) {
  if (request.header.trace_hi == kPoison) throw std::runtime_error("poisoned");
}

// A router and a node in one process, each with all that it has in a process of its own.
class ClusterHouse : public testing::Test {
 protected:
  void start(RouterFault router_fault = {}, FaultHooks node_faults = {}) {
    ClusterConfig config;
    static_cast<ServeConfig&>(config) = loopback();
    config.cluster.listen = "127.0.0.1:0";
    auto router = RouterServer::start(config, router_monitor_, {}, std::move(router_fault));
    ASSERT_TRUE(router) << router.error().message;
    router_ = std::move(*router);
    EXPECT_THAT(router_monitor_.readiness_page().body, HasSubstr("no node"));
    EXPECT_EQ(router_monitor_.health_page().status, 200);
    ClusterSection cluster;
    cluster.routers = "127.0.0.1:" + std::to_string(router_->cluster_port());
    ServeConfig serve = loopback();
    serve.server.models = scratch_.path().string();
    serve.server.actor_threads = 2;  // an actor that is stuck holds up no other
    node_ = std::move(Server::start(serve, Devices{std::make_shared<TimedDevice>(TimedCost{100, 0})},
                                    write_models(scratch_), node_monitor_, std::move(node_faults), cluster)
                          .value());
    ClientOptions options;
    options.channel.endpoint = router_->endpoint();
    client_ = std::move(*Client::connect(options));
    ASSERT_TRUE(answers());
  }

  ClientRequest request() const { return chain_request("check", "tokens", std::span(tokens_)); }
  // Within a time that is never reached; tells how long it took.
  bool answers() {
    const auto since = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - since < kLongEnough) {
      auto answer = client_->submit(request());
      if (answer.wait_for(kLongEnough) != std::future_status::ready) return false;
      if (answer.get().status()) {
        took_ = std::chrono::steady_clock::now() - since;
        return true;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  }
  Reply poison() {
    ClientRequest bad = request();
    bad.header.trace_hi = kPoison;
    return client_->submit(bad).get();
  }
  std::string metric(const std::string& name) const {
    const std::string page = router_monitor_.metrics_page().body;
    const std::size_t at = page.find("\n" + name + " ");
    if (at == std::string::npos) return "none";
    return page.substr(at + name.size() + 2, page.find('\n', at + 1) - at - name.size() - 2);
  }
  static bool within(seconds time, const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }

  const std::vector<std::int32_t> tokens_{1, 2, 3};
  Scratch scratch_;
  Monitor router_monitor_{"test"}, node_monitor_{"test"};
  std::unique_ptr<RouterServer> router_;
  std::unique_ptr<Server> node_;
  std::unique_ptr<Client> client_;
  Duration took_{};
};

TEST_F(ClusterHouse, ARouterThatFailsIsReplaced) {
  ASSERT_NO_FATAL_FAILURE(start(hurt_if_poisoned));
  EXPECT_TRUE(within(kLongEnough, [&] { return router_monitor_.readiness_page().status == 200; }));
  const Reply hurt = poison();
  EXPECT_EQ(hurt.status().error().code, ErrorCode::kInternal);
  ASSERT_TRUE(answers());
  EXPECT_LT(took_, seconds(5)) << "a second, but for a busy machine";
  EXPECT_TRUE(within(kLongEnough, [&] { return router_monitor_.health_page().status == 200; }));
  EXPECT_TRUE(within(kLongEnough, [&] { return router_monitor_.readiness_page().status == 200; }));
  EXPECT_EQ(metric("volvox_actor_restarts_total"), "1");
}

// One that does nothing is no better than one that is gone, and is not replaced.
TEST_F(ClusterHouse, ARouterThatIsStuckIsNotHealthy) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  ASSERT_NO_FATAL_FAILURE(start([&](const IncomingRequest& request) {
    if (request.header.trace_hi == kPoison) released.wait();
  }));
  ClientRequest stuck = request();
  stuck.header.trace_hi = kPoison;
  auto answer = client_->submit(stuck);
  EXPECT_TRUE(within(kLongEnough, [&] { return router_monitor_.health_page().status == 503; }));
  EXPECT_THAT(router_monitor_.health_page().body, HasSubstr("cluster router does not answer"));
  release.set_value();
  EXPECT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
  EXPECT_TRUE(within(kLongEnough, [&] { return router_monitor_.health_page().status == 200; }));
}

TEST_F(ClusterHouse, ALinkThatIsStuckIsNotHealthy) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  FaultHooks faults;
  faults.link = [&](const IncomingRequest& request) {
    if (request.header.trace_hi == kPoison) released.wait();
  };
  ASSERT_NO_FATAL_FAILURE(start({}, faults));
  ClientRequest stuck = request();
  stuck.header.trace_hi = kPoison;
  auto answer = client_->submit(stuck);
  EXPECT_TRUE(within(kLongEnough, [&] { return node_monitor_.health_page().status == 503; }));
  EXPECT_THAT(node_monitor_.health_page().body, HasSubstr("link to the routers does not answer"));
  release.set_value();
  EXPECT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
  EXPECT_TRUE(within(kLongEnough, [&] { return node_monitor_.health_page().status == 200; }));
}

TEST_F(ClusterHouse, ALinkThatFailsIsReplaced) {
  FaultHooks faults;
  faults.link = hurt_if_poisoned;
  ASSERT_NO_FATAL_FAILURE(start({}, faults));
  auto hurt = client_->submit([&] {
    ClientRequest bad = request();
    bad.header.trace_hi = kPoison;
    bad.header.deadline_us = 200'000;  // or it would be tried again
    return bad;
  }());
  EXPECT_FALSE(hurt.get().status());
  ASSERT_TRUE(answers());
  EXPECT_LT(took_, seconds(5));
  EXPECT_TRUE(within(kLongEnough, [&] { return node_monitor_.health_page().status == 200; }));
}

// Requests run on one model while others come and go, and while it is itself replaced.
TEST_F(ClusterHouse, AChangeOfModelsDisturbsNothing) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::vector<std::int32_t> many(600, 7);  // 60 ms and more
  std::atomic<bool> done{false};
  std::atomic<int> right{0}, wrong{0};
  std::jthread load([&] {
    while (!done) {
      std::vector<std::future<Reply>> answers;
      for (int i = 0; i < 8; ++i)
        answers.push_back(client_->submit(chain_request("check", "tokens", std::span(many))));
      for (auto& answer : answers) ++(state_in(answer.get()) == check_answer(many) ? right : wrong);
    }
  });
  const auto change = [&](const char* what, auto&& command) {
    std::promise<Status> changed;
    command(node_->models(), [&](const Status& status) { changed.set_value(status); });
    const Status ended = changed.get_future().get();
    EXPECT_TRUE(ended) << what << ": " << to_string(ended.error());
    const int before = right;
    EXPECT_TRUE(within(kLongEnough, [&] { return right > before + 8; }));
  };
  const auto has_noop = [&] {
    return client_->submit(chain_request("noop", "tokens", std::span(tokens_))).get().status().has_value();
  };
  for (int round = 0; round < 3; ++round) {
    change("unload", [](ModelHost& host, auto done) { host.unload("noop", 0, done); });
    EXPECT_TRUE(within(kLongEnough, [&] { return !has_noop(); }));
    change("load", [](ModelHost& host, auto done) { host.load("noop", 0, done); });
    EXPECT_TRUE(within(kLongEnough, has_noop));
    std::filesystem::copy(scratch_.path() / "check" / "1",
                          scratch_.path() / "check" / std::to_string(round + 2),
                          std::filesystem::copy_options::recursive);
    change("reload", [](ModelHost& host, auto done) { host.reload("check", 0, done); });
  }
  done = true;
  load.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(metric("volvox_cluster_joins_total"), "1");
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), "0");
}

TEST_F(ClusterHouse, ARouterWithoutNodesIsNotReady) {
  ASSERT_NO_FATAL_FAILURE(start());
  node_ = nullptr;
  EXPECT_TRUE(within(kLongEnough, [&] { return router_monitor_.readiness_page().status == 503; }));
  EXPECT_EQ(router_monitor_.health_page().status, 200);
}

}  // namespace
}  // namespace volvox
