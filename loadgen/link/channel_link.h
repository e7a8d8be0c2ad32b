#pragma once

#include <memory>
#include <optional>
#include <string>

#include "loadgen/link/link.h"
#include "loadgen/requests/priority_mix.h"
#include "protocol/channel_group.h"

namespace volvox {

// What all requests of a load have in common.
struct RequestTemplate {
  std::string model;
  std::uint32_t model_version = 0;  // 0: the newest
  std::string input;  // the model's inputs, with commas between them; empty: it has none, only a length
  PriorityMix priorities;
  Duration deadline{};  // told to the server with each request; 0: none
};

// A load's way to a real server: a ZeroMQ connection to each router, driven by the load's own thread.
class ChannelLink : public LoadLink {
 public:
  // UNAVAILABLE if no server answers at the endpoint, or any of several with commas, in a few seconds.
  static Result<std::unique_ptr<LoadLink>> open(const std::string& endpoint, const RequestTemplate& request,
                                                std::optional<ChannelKeys> keys = {});

  TimePoint now() override;
  Status send(std::uint64_t request_id, const RequestContent& content) override;
  void cancel(std::uint64_t request_id) override;
  Status receive(Duration at_most, std::vector<Reply>& replies) override;
  LinkCounts counts() const override;

 private:
  ChannelLink(std::unique_ptr<ChannelGroup> channel, const RequestTemplate& request);

  std::unique_ptr<ChannelGroup> channel_;
  RequestTemplate template_;
  ClientRequest request_;  // reused, so that sending allocates little
};

}  // namespace volvox
