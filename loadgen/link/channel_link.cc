#include "loadgen/link/channel_link.h"

#include <utility>

namespace volvox {

Result<std::unique_ptr<LoadLink>> ChannelLink::open(const std::string& endpoint, const RequestMix& mix,
                                                    std::optional<ChannelKeys> keys) {
  ChannelOptions options;
  options.keys = std::move(keys);
  options.endpoint = endpoint;
  options.default_timeout = Duration(0);  // the load keeps its own time, and tells lost from refused
  options.send_queue = 1 << 16;
  options.receive_queue = 1 << 16;
  options.poll_burst = 4;  // a request may be due as soon as these are dealt with
  auto channel = ChannelGroup::connect(options);
  if (!channel) return tl::unexpected(channel.error());
  return std::unique_ptr<LoadLink>(new ChannelLink(std::move(*channel), mix));
}

ChannelLink::ChannelLink(std::unique_ptr<ChannelGroup> channel, const RequestMix& mix)
    : channel_(std::move(channel)) {
  for (const RequestClass& one : mix.classes()) inputs_.push_back(one.common.input);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const RequestTemplate& common = mix.classes()[i].common;
    classes_.push_back({common.priorities, request_with_inputs(common.model, inputs_[i])});
    Outgoing& made = classes_.back();
    made.request.header.model_version = common.model_version;
    made.request.header.deadline_us = static_cast<std::uint64_t>(common.deadline.count() / 1000);
  }
}

TimePoint ChannelLink::now() {
  return std::chrono::steady_clock::now();
}

Status ChannelLink::send(std::uint64_t request_id, const RequestContent& content) {
  auto& [priorities, request] = classes_[content.of_class];
  request.header.request_id = request_id;
  request.header.priority = priorities.draw(request_id);
  fill_request(request, content);
  const auto id = channel_->send(request);
  if (!id) return tl::unexpected(id.error());
  return {};
}

void ChannelLink::cancel(std::uint64_t request_id) {
  static_cast<void>(channel_->cancel(request_id));  // without a connection there is nothing to stop
}

Status ChannelLink::receive(Duration at_most, std::vector<Reply>& replies) {
  channel_->poll(at_most, [&replies](Reply&& reply) { replies.push_back(std::move(reply)); });
  return {};
}

LinkCounts ChannelLink::counts() const {
  const ChannelStats stats = channel_->stats();
  return {stats.duplicates + stats.unknown, stats.late, stats.resent};
}

}  // namespace volvox
