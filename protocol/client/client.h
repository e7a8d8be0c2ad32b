#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "protocol/client/channel_group.h"
#include "protocol/sockets/burst_queue.h"

namespace volvox {

struct ClientOptions {
  ChannelOptions channel;
  std::size_t max_in_flight = 65536;                       // beyond it submit() says OVERLOADED
  std::size_t max_waiting_bytes = std::size_t{256} << 20;  // bodies submitted but not yet sent
};

// A ChannelGroup belongs to one thread, while a program has many that want answers. This runs one on a thread
// of its own: submit from anywhere, be called back, or wait for a future. Every accepted request is answered
// exactly once; close() answers what is left with CANCELLED. With several endpoints, a request whose router
// is gone is sent to another one, as ChannelGroup says; with one, nothing is ever sent twice.
//
//   auto client = Client::connect({.channel = {.endpoint = "tcp://127.0.0.1:7100"}}).value();
//   const std::vector<std::int32_t> tokens{12, 7, 301};
//   std::future<Reply> answer = client->submit(chain_request("lstm", "tokens", std::span(tokens)));
//   const Reply reply = answer.get();
//   if (auto ok = reply.status(); !ok) std::cerr << to_string(ok.error()) << '\n'; else
//   use(reply.body.find("h"));
//
// submit(), cancel(), stats(): any thread, callbacks included. close() and destruction: any thread but the
// callbacks'.
class Client {
 public:
  // Called on the client's own thread, once per partial and once with the final reply. It must not throw nor
  // block.
  using Callback = std::function<void(Reply&&)>;

  // As ChannelGroup::connect.
  static Result<std::unique_ptr<Client>> connect(const ClientOptions& options);
  ~Client();

  // Encodes the request on the calling thread, numbers it, and returns its id. `done` is called exactly once
  // with a final reply if this succeeds, never if it fails (INVALID_ARGUMENT, OVERLOADED; UNAVAILABLE after
  // close()).
  Result<std::uint64_t> submit(const ClientRequest& request, Callback done);

  // The same; the future holds the final reply, also when the request was refused right here. Partials are
  // dropped.
  std::future<Reply> submit(const ClientRequest& request);

  // A bundle likewise; returns the id of its part 0. `done` is called with answers to some parts at a time,
  // until all have one: BundleReply::final. max_in_flight counts parts.
  using BundleCallback = Channel::BundleHandler;
  Result<std::uint64_t> submit(const ClientBundle& bundle, BundleCallback done);

  // As ChannelGroup::cancel: the request is still answered. Of a bundle's id: all its parts.
  void cancel(std::uint64_t id);

  // Answers everything in flight with CANCELLED, then ends the thread. Idempotent.
  void close();

  std::size_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  ChannelStats stats() const;

 private:
  struct Submission {
    RequestHeader header;
    WireBuffer body;
    Duration timeout;
    Callback done;               // empty: cancel header.request_id, unless it is
    BundleCallback bundle_done;  // a bundle's
  };
  Client(const ClientOptions& options, std::unique_ptr<ChannelGroup> channel);
  void run();
  void send_submitted();
  void send(Submission& submission);
  Result<std::uint64_t> push(Submission&& submission, std::uint32_t parts);
  void send_bundle(Submission& submission);
  void on_reply(Reply&& reply);
  void on_bundle(BundleReply&& reply);
  void cancel_everything();
  void publish_stats();

  const ClientOptions options_;
  std::unique_ptr<ChannelGroup> channel_;  // the thread's, like callbacks_ and batch_
  std::unordered_map<std::uint64_t, Callback> callbacks_;
  std::unordered_map<std::uint64_t, BundleCallback> bundles_;  // by the id of part 0
  std::vector<Submission> batch_;
  BurstQueue<Submission> submissions_;
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::size_t> in_flight_{0};
  std::atomic<bool> closing_{false};
  mutable std::mutex stats_mutex_;
  ChannelStats stats_;
  std::mutex close_mutex_;
  std::thread thread_;
};

}  // namespace volvox
