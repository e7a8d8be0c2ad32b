#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "loadgen/link/link.h"

namespace volvox {

// A server and a clock in one: time passes only while somebody waits, so that a test of an hour takes no time
// and always goes the same way.
class FakeLink : public LoadLink {
 public:
  // What becomes of a request: any number of replies, each after a delay.
  struct Answer {
    Duration after{};
    Reply reply;
  };
  using Server = std::function<std::vector<Answer>(std::uint64_t id, std::span<const std::int32_t> tokens)>;

  explicit FakeLink(Server server) : server_(std::move(server)) {}

  static Reply result(std::uint64_t id, std::uint64_t queue_us = 0, std::uint64_t compute_us = 0) {
    Reply reply;
    reply.header.request_id = id;
    reply.header.timings.queue_us = queue_us;
    reply.header.timings.compute_us = compute_us;
    return reply;
  }
  static Reply error(std::uint64_t id, ErrorCode code) {
    return {error_reply(id, Error{code, "because of the test"}), {}};
  }
  // Answers every request after `delay`.
  static Server steady(Duration delay) {
    return [delay](std::uint64_t id, auto) { return std::vector<Answer>{{delay, result(id, 10, 20)}}; };
  }

  TimePoint now() override { return now_; }

  Status send(std::uint64_t id, const RequestContent& content) override {
    sent.emplace_back(now_, id);
    if (stall > Duration(0) && sent.size() == stall_at) now_ += stall;
    if (refuse_sends) return fail(ErrorCode::kUnavailable, "the test refuses to send");
    for (Answer& answer : server_(id, content.tokens)) {
      arriving_.emplace(now_ + answer.after, std::move(answer.reply));
    }
    return {};
  }

  Status receive(Duration at_most, std::vector<Reply>& replies) override {
    const TimePoint end = now_ + std::max(at_most, Duration(0));
    if (on_receive) on_receive();
    if (at_most <= Duration(0)) ++looks;
    if (dies_at != TimePoint{} && end >= dies_at) {
      now_ = std::max(now_, dies_at);
      return fail(ErrorCode::kUnavailable, "the link broke");
    }
    if (!arriving_.empty() && arriving_.begin()->first <= end) {
      now_ = std::max(now_, arriving_.begin()->first);
      while (!arriving_.empty() && arriving_.begin()->first <= now_) {
        replies.push_back(std::move(arriving_.begin()->second));
        arriving_.erase(arriving_.begin());
      }
    } else {
      now_ = end + (at_most > Duration(0) ? oversleep : look);
    }
    return {};
  }

  std::vector<std::pair<TimePoint, std::uint64_t>> sent;
  std::size_t stall_at = 0;                      // this send (from 1) takes …
  Duration stall{};                              // … that long
  Duration oversleep{};                          // a wait that nothing ends takes so much longer
  Duration look = std::chrono::microseconds(1);  // what one without waiting takes when nothing has come
  std::size_t looks = 0;                         // of that kind
  bool refuse_sends = false;
  TimePoint dies_at{};
  std::function<void()> on_receive;

 private:
  Server server_;
  TimePoint now_{std::chrono::seconds(1000)};
  std::multimap<TimePoint, Reply> arriving_;
};

}  // namespace volvox
