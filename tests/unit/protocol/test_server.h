#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "protocol/codec/codec.h"
#include "protocol/sockets/edge_socket.h"

namespace volvox::test {

// A server whose behaviour is the model's name: "echo" answers with the first input, "silent" never, "hold"
// when release() is called, "twice" twice, "partials" in parts of which one is repeated, "rows" with two rows
// from the first that is wanted and then as "hold", "refuse" with an error, "unavailable" with that one,
// "unavailable later" with it when release() is called, "wrong-id" with another id, "bad-header", "bad-body"
// and "version-9" with what cannot be read. Bundles it refuses as one that knows none, but for the model
// "silent", and "parts": each part with an error, every error twice, and one for a part that there is not. It
// runs an EdgeSocket on a thread of its own.
class TestServer : public EdgeHandler {
 public:
  explicit TestServer(const std::string& endpoint = "tcp://127.0.0.1:*", EdgeOptions options = {});
  ~TestServer() override;

  const std::string& endpoint() const { return edge_->endpoint(); }
  EdgeSocket& edge() { return *edge_; }

  // Stands still from its return on, until resume(): nothing is read, not even a ping.
  void pause();
  void resume();

  // Answers all held requests.
  void release();
  std::size_t held() const;
  std::multiset<std::uint64_t> cancelled() const;
  std::vector<RequestHeader> seen() const;

  void on_request(const ClientId& client, std::span<const std::byte> header,
                  std::span<const std::byte> body) override;
  void on_client_gone(const ClientId& client, ClientGone why) override;

 private:
  struct Held {
    ClientId client;
    RequestHeader header;
    std::vector<std::byte> body;
  };

  void run();
  void infer(const ClientId& client, const RequestHeader& header, std::span<const std::byte> body);
  void echo(const ClientId& client, const RequestHeader& header, std::span<const std::byte> body);
  void send(const ClientId& client, const ReplyHeader& header, std::span<const WireTensor> outputs);
  void send_partials(const ClientId& client, const RequestHeader& header);
  void send_rows(const ClientId& client, const RequestHeader& header);
  void send_damaged(const ClientId& client, const RequestHeader& header);
  void refuse_parts(const ClientId& client, const RequestHeader& header);
  void cancel(const ClientId& client, std::uint64_t id);

  const WireLimits limits_;
  std::unique_ptr<EdgeSocket> edge_;
  mutable std::mutex mutex_;
  std::vector<Held> held_;
  std::vector<RequestHeader> seen_;
  std::multiset<std::uint64_t> cancelled_;
  enum class Pace { kGoing, kToStand, kStanding };
  std::atomic<Pace> pace_{Pace::kGoing};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace volvox::test
