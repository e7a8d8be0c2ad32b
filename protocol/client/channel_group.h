#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/client/channel.h"

namespace volvox {

// One connection ends with its router, while a cluster has several routers that all serve the same. This
// holds a Channel to each, and looks like one: a request goes to the router with the least of this client's
// under way; when that router's connection breaks, when it is silent (a ping waits for `silent_after`, and
// nothing else came), or when it says UNAVAILABLE, the request goes, with the same id, to another one, at
// most `max_attempts` times in all and within its time. A router that is only slow answers pings: what runs
// there is not run twice. Only the newest attempt's answer counts; a streamed answer goes on after the rows
// that were delivered. A session's begin without a nonce is never sent again, for that would begin another
// one. With one endpoint nothing is ever sent twice.
//
//   auto group = ChannelGroup::connect({.endpoint = "tcp://router-1:7100,tcp://router-2:7100"}).value();
//
// As Channel otherwise: all calls from one thread at a time, everything happens inside poll().
class ChannelGroup {
 public:
  using Handler = Channel::Handler;
  static constexpr std::size_t kMostEndpoints = 15;

  // Returns when one of the servers is connected; the others are when they can be. Errors as of
  // Channel::connect(), UNAUTHENTICATED only if all refuse.
  static Result<std::unique_ptr<ChannelGroup>> connect(const ChannelOptions& options);

  // As Channel::send(): OVERLOADED also when max_kept_bytes wait for answers, UNAVAILABLE without any
  // connection.
  Result<std::uint64_t> send(const ClientRequest& request);
  Result<std::uint64_t> send(RequestHeader header, WireBuffer&& body, Duration timeout = Duration{0});

  // As Channel::send() of a bundle, to the router with the least of this client's under way. It goes to no
  // other: parts whose router is gone are answered UNAVAILABLE, undecided, and are the caller's to repeat.
  Result<std::uint64_t> send(const ClientBundle& bundle);
  Result<std::uint64_t> send_bundle(RequestHeader header, WireBuffer&& body, Duration timeout = Duration{0});
  void on_bundle(Channel::BundleHandler handler) { bundle_handler_ = std::move(handler); }
  std::vector<std::uint32_t> unanswered(std::uint64_t bundle) const;

  // As Channel::cancel(), which goes to the newest attempt; there is none after it. Of a bundle: all its
  // parts.
  Status cancel(std::uint64_t id);
  Status cancel_part(std::uint64_t bundle, std::uint32_t part);

  // As Channel::poll().
  std::size_t poll(Duration timeout, const Handler& handler, int wake_fd = -1);

  std::size_t in_flight() const { return flights_.size() + bundles_.size(); }
  bool connected() const;
  // Summed over the connections: each attempt counts as one sent and one answer or loss.
  ChannelStats stats() const;

 private:
  struct Attempt {
    std::size_t channel = 0;
    std::uint64_t connection = 0;
  };
  struct Flight {
    RequestHeader header;
    WireBuffer body;  // empty once it was sent where there is nobody else to send it to
    TimePoint sent{}, expires = TimePoint::max();
    std::uint32_t next_row = 0;  // of a streamed answer: those before it were delivered
    std::uint32_t version =
        0;  // of the model that those are of; 0: there are none, or their server does not say
    bool cancelled = false;
    bool doubtful = false;  // an earlier attempt may have been done: nobody has said what became of it
    std::vector<Attempt> attempts;  // the last one counts
  };
  using Flights = std::unordered_map<std::uint64_t, Flight>;

  explicit ChannelGroup(const ChannelOptions& options) : options_(options) {}
  Status open(const std::vector<std::string>& endpoints);
  Status await_connection();

  void take_bundle(BundleReply&& reply);
  std::uint64_t next_id(const RequestHeader& header) const {
    return header.request_id == 0 ? next_id_ : header.request_id;
  }

  bool alone() const { return channels_.size() == 1; }
  bool answers(std::size_t channel, TimePoint now) const;
  bool was_tried(const Flight& flight, std::size_t channel) const;
  std::vector<std::size_t> order(const Flight& flight, TimePoint now, bool answering);
  Status send_somewhere(Flight& flight, TimePoint now, bool answering);
  Status send_to(std::size_t channel, Flight& flight, TimePoint now);
  bool send_again(Flight& flight, TimePoint now, bool answering);

  bool take(Reply&& reply, const Handler& handler);
  static bool is_undecided(const Reply& error, bool doubtful);
  void finish(Flights::iterator at, Reply&& reply, const Handler& handler);
  std::size_t leave_silent(TimePoint now, const Handler& handler);
  void sleep(Duration timeout, int wake_fd);

  struct Bundle {
    std::size_t channel = 0;
    std::uint32_t parts = 0;
  };

  const ChannelOptions options_;
  std::vector<std::unique_ptr<Channel>> channels_;
  Flights flights_;
  std::unordered_map<std::uint64_t, Bundle> bundles_;  // by the id of the first part
  Channel::BundleHandler bundle_handler_;
  std::size_t bundle_replies_ = 0;  // within this poll()
  std::vector<std::size_t> on_;     // requests in flight by channel
  std::size_t kept_bytes_ = 0;
  std::uint64_t next_id_ = 1;
  std::size_t turn_ = 0;  // among equals
  std::uint64_t resent_ = 0, silences_ = 0;
  TimePoint next_look_{};  // at silent servers' requests
  bool sent_ = false;      // since all channels were polled
  bool woken_ = false;     // by wake_fd
};

}  // namespace volvox
