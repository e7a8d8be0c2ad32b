#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "loadgen/report/verify.h"
#include "protocol/codec/codec.h"
#include "protocol/sockets/edge_socket.h"

namespace volvox {

// A server at the other end of a real socket, which answers the sum of a request's tokens; on demand it
// spoils some.
class SumServer : public EdgeHandler {
 public:
  SumServer() {
    auto socket = EdgeSocket::open({}, *this);
    EXPECT_TRUE(socket.has_value());
    socket_ = std::move(*socket);
    EXPECT_TRUE(socket_->bind("tcp://127.0.0.1:*").has_value());
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) socket_->run_once(std::chrono::milliseconds(20));
    });
  }

  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte> body) override {
    const auto request = decode_request_header(header, limits_);
    const auto content = decode_request_body(body, limits_);
    if (!request || !content) return;
    last_priority = static_cast<int>(request->priority);
    last_deadline_us = request->deadline_us;
    const std::uint64_t id = request->request_id;
    if (refuse_every != 0 && id % refuse_every == 0) {
      post(client, error_reply(id, Error{ErrorCode::kOverloaded, "full"}), {});
      return;
    }
    std::uint64_t sum = sum_of(*content);
    if (spoil_every != 0 && id % spoil_every == 0) ++sum;
    const int times = repeat_every != 0 && id % repeat_every == 0 ? 2 : 1;
    for (int i = 0; i < times; ++i) {
      ReplyHeader reply;
      reply.request_id = id;
      reply.timings = {100, 200, 300};
      const std::vector<std::uint64_t> values{sum};
      const std::vector<float> padding(padding_floats);
      const WireTensor outputs[] = {wire_tensor("sum", std::span<const std::uint64_t>(values)),
                                    wire_tensor("padding", std::span<const float>(padding))};
      auto encoded = encode_reply_body(std::span(outputs).first(padding.empty() ? 1 : 2), limits_);
      post(client, reply, std::move(*encoded));
    }
  }

  void on_client_gone(const ClientId&, ClientGone) override {}

  const std::string& endpoint() const { return socket_->endpoint(); }

  std::atomic<std::uint64_t> refuse_every{0}, spoil_every{0}, repeat_every{0};
  std::atomic<std::size_t> padding_floats{0};  // beside the sum
  std::atomic<int> last_priority{-1};
  std::atomic<std::uint64_t> last_deadline_us{0};

 private:
  static std::uint64_t sum_of(const RequestBody& body) {
    std::uint64_t sum = 0;
    const auto tokens = body.inputs.at(0).values<std::int32_t>();
    for (const std::int32_t token : *tokens) sum += static_cast<std::uint64_t>(token);
    return sum;
  }

  void post(const ClientId& client, const ReplyHeader& header, WireBuffer body) {
    auto encoded = encode_reply_header(header, limits_);
    ASSERT_TRUE(encoded.has_value());
    socket_->post({client, std::move(*encoded), std::move(body)});
  }

  WireLimits limits_;
  std::unique_ptr<EdgeSocket> socket_;
  std::jthread thread_;
};

class SumVerifier : public AnswerVerifier {
 public:
  Result<std::string> check(const RequestContent& content, const ReplyBody& answer) override {
    std::uint64_t sum = 0;
    for (const std::int32_t token : content.tokens) sum += static_cast<std::uint64_t>(token);
    const WireTensor* output = answer.find("sum");
    if (output == nullptr) return std::string("has no sum");
    const auto values = output->values<std::uint64_t>();
    if (!values) return values.error().message;
    return compare_exactly(*values, std::vector<std::uint64_t>{sum});
  }
};

}  // namespace volvox
