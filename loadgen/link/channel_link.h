#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/link/link.h"
#include "loadgen/requests/request_mix.h"
#include "protocol/client/channel_group.h"

namespace volvox {

// A load's way to a real server: a ZeroMQ connection to each router, driven by the load's own thread.
class ChannelLink : public LoadLink {
 public:
  // UNAVAILABLE if no server answers at the endpoint, or any of several with commas, in a few seconds.
  static Result<std::unique_ptr<LoadLink>> open(const std::string& endpoint, const RequestMix& mix,
                                                std::optional<ChannelKeys> keys = {});

  TimePoint now() override;
  Status send(std::uint64_t request_id, const RequestContent& content) override;
  void cancel(std::uint64_t request_id) override;
  Status receive(Duration at_most, std::vector<Reply>& replies) override;
  LinkCounts counts() const override;

 private:
  ChannelLink(std::unique_ptr<ChannelGroup> channel, const RequestMix& mix);

  std::unique_ptr<ChannelGroup> channel_;
  struct Outgoing {
    PriorityMix priorities;
    ClientRequest request;  // reused, so that sending allocates little
  };

  std::vector<std::string> inputs_;  // what the requests' tensors are named by
  std::vector<Outgoing> classes_;    // of the mix
};

}  // namespace volvox
