#pragma once

#include <memory>
#include <optional>
#include <string>

#include "loadgen/calls/call_link.h"
#include "loadgen/calls/call_tokens.h"
#include "protocol/client/channel_group.h"

namespace volvox {

// Where frames go, and as what.
struct CallTarget {
  std::string endpoint{};  // several with commas
  std::string model{}, input{};
  std::uint32_t model_version = 0;  // 0: the newest
  Duration timeout = std::chrono::seconds(30);
  std::optional<ChannelKeys> keys{};
};

ChannelOptions channel_options(const CallTarget& target);
CallLinkCounts link_counts(const ChannelStats& stats);

// One message a frame, over a connection to each router.
class CallChannel : public CallLink {
 public:
  // UNAVAILABLE if no server answers in a few seconds. For calls in as many slots.
  static Result<std::unique_ptr<CallLink>> open(const CallTarget& target, std::uint32_t slots);

  TimePoint now() override;
  Status send(const CallFrame& frame) override;
  Status flush() override { return {}; }
  void receive(Duration at_most, const Handler& handler) override;
  CallLinkCounts counts() const override;

 private:
  CallChannel(std::unique_ptr<ChannelGroup> channel, const CallTarget& target, std::uint32_t slots);
  void take(const Reply& reply, const Handler& handler);

  std::unique_ptr<ChannelGroup> channel_;
  std::string input_;
  ClientRequest request_, end_;  // reused, so that sending allocates little
  CallTokens tokens_;
};

}  // namespace volvox
