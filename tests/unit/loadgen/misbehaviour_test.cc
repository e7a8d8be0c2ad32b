#include "loadgen/run/misbehaviour.h"

#include <thread>

#include <gtest/gtest.h>

#include "protocol/codec/codec.h"
#include "protocol/curve/curve_keys.h"
#include "protocol/sockets/edge_socket.h"

namespace volvox {
namespace {

// Counts what comes, and answers nothing.
class Listener : public EdgeHandler {
 public:
  explicit Listener(const EdgeOptions& options = {}) {
    auto edge = EdgeSocket::open(options, *this);
    EXPECT_TRUE(edge && (*edge)->bind("tcp://127.0.0.1:*"));
    edge_ = std::move(*edge);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) edge_->run_once(std::chrono::milliseconds(5));
    });
  }
  ~Listener() override {
    thread_.request_stop();
    thread_.join();
  }
  std::string endpoint() const { return edge_->endpoint(); }
  int requests() const { return requests_; }

  void on_request(const ClientId&, std::span<const std::byte> header,
                  std::span<const std::byte> body) override {
    const auto read = decode_request_header(header, {});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->model, "m");
    EXPECT_EQ(read->deadline_us, 1500U);
    EXPECT_TRUE(decode_request_body(body, {}));
    ++requests_;
  }
  void on_client_gone(const ClientId&, ClientGone) override {}

 private:
  std::unique_ptr<EdgeSocket> edge_;
  std::atomic<int> requests_{0};
  std::jthread thread_;
};

TEST(Misbehaviour, SendsProperRequestsAndGoes) {
  Listener listener;
  const RequestSource source(1, LengthSource::fixed(5), 100);
  const MisbehaviourPlan plan{.endpoint = listener.endpoint(),
                              .model = "m",
                              .input = "tokens",
                              .deadline = std::chrono::microseconds(1500),
                              .never_read = 3,
                              .vanish = 2};
  auto misbehaviour = Misbehaviour::start(plan, source);
  ASSERT_TRUE(misbehaviour) << misbehaviour.error().message;
  std::jthread thread([&](const std::stop_token& stop) { misbehaviour->run(stop); });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (listener.requests() < 6 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  thread.request_stop();
  thread.join();
  EXPECT_GE(listener.requests(), 6) << "those that only do not read are all heard";
  EXPECT_GE(misbehaviour->counts().vanished, 2U);
  EXPECT_GE(misbehaviour->counts().sent, 10U);
}

TEST(Misbehaviour, NeedsAServer) {
  const RequestSource source(1, LengthSource::fixed(5), 100);
  const auto start = [&source](const char* endpoint) {
    const MisbehaviourPlan plan{.endpoint = endpoint, .model = "m", .input = "tokens", .never_read = 1};
    return Misbehaviour::start(plan, source);
  };
  EXPECT_EQ(start("tcp://127.0.0.1:1").error().code, ErrorCode::kUnavailable);
  EdgeOptions encrypted;
  encrypted.keys = EdgeKeys{new_curve_keys().value(), CurveClients::anybody()};
  Listener keeper(encrypted);
  EXPECT_EQ(start(keeper.endpoint().c_str()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(start("ipc://nowhere").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace volvox
