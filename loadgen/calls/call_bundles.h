#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "loadgen/calls/call_channel.h"
#include "loadgen/calls/call_link.h"
#include "loadgen/calls/call_tokens.h"
#include "protocol/bundle.h"
#include "protocol/client/channel_group.h"

namespace volvox {

// One message for the frames of all calls that are taken between two flushes, as a media host has them every
// tick; their answers come in bundles, too.
class CallBundles : public CallLink {
 public:
  // As CallChannel::open().
  static Result<std::unique_ptr<CallLink>> open(const CallTarget& target, std::uint32_t slots);

  TimePoint now() override;
  Status send(const CallFrame& frame) override;
  Status flush() override;
  void receive(Duration at_most, const Handler& handler) override;
  CallLinkCounts counts() const override;

 private:
  CallBundles(std::unique_ptr<ChannelGroup> channel, const CallTarget& target, std::uint32_t slots);
  void take(const BundleReply& reply);
  void answer(const CallAnswer& answer) { (*handler_)(answer); }

  // Frames that could not be sent, and why.
  struct Unsent {
    std::vector<std::uint64_t> tickets;
    Error error;
  };

  const WireLimits limits_{};
  std::unique_ptr<ChannelGroup> channel_;
  std::string input_;
  CallTokens tokens_;
  // Of the bundle that is being filled.
  ClientBundle message_;
  std::vector<float> rows_;
  std::vector<std::uint64_t> tickets_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> flights_;  // tickets, by the id of part 0
  std::vector<std::vector<std::uint64_t>> spare_;                          // their memory, to be used again
  std::vector<Unsent> unsent_;
  std::vector<WireTensor> outputs_;   // of the answer under way
  const Handler* handler_ = nullptr;  // of the receive() under way
};

}  // namespace volvox
