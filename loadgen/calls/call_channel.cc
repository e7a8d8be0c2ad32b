#include "loadgen/calls/call_channel.h"

#include <chrono>
#include <utility>

namespace volvox {

ChannelOptions channel_options(const CallTarget& target) {
  ChannelOptions options;
  options.endpoint = target.endpoint;
  options.keys = target.keys;
  options.default_timeout = target.timeout;
  options.send_queue = 1 << 16;
  return options;
}

CallLinkCounts link_counts(const ChannelStats& stats) {
  return {stats.duplicates + stats.unknown, stats.late, stats.resent};
}

Result<std::unique_ptr<CallLink>> CallChannel::open(const CallTarget& target, std::uint32_t slots) {
  auto channel = ChannelGroup::connect(channel_options(target));
  if (!channel) return tl::unexpected(channel.error());
  return std::unique_ptr<CallLink>(new CallChannel(std::move(*channel), target, slots));
}

CallChannel::CallChannel(std::unique_ptr<ChannelGroup> channel, const CallTarget& target, std::uint32_t slots)
    : channel_(std::move(channel)), input_(target.input), end_(end_request(target.model)), tokens_(slots) {
  request_.header.model = target.model;
  request_.header.model_version = target.model_version;
  request_.header.cells_hint = 1;
  request_.body.structure = ChainStructure{1};
  request_.body.inputs.resize(1);
}

TimePoint CallChannel::now() {
  return std::chrono::steady_clock::now();
}

Status CallChannel::send(const CallFrame& frame) {
  ClientRequest& request = frame.samples.empty() ? end_ : request_;
  request.header.session = tokens_.of(frame);
  request.header.request_id = frame.ticket;
  if (!frame.samples.empty()) {
    const auto width = static_cast<std::int64_t>(frame.samples.size());
    request_.body.inputs.front() = wire_tensor(input_, frame.samples, {1, width});
  }
  const auto id = channel_->send(request);
  if (!id) return tl::unexpected(id.error());
  return {};
}

void CallChannel::receive(Duration at_most, const Handler& handler) {
  channel_->poll(at_most, [&](Reply&& reply) {
    if (reply.header.final) take(reply, handler);
  });
}

void CallChannel::take(const Reply& reply, const Handler& handler) {
  CallAnswer answer{.ticket = reply.header.request_id};
  if (!tokens_.contains(answer.ticket)) return;
  if (reply.header.kind == ReplyKind::kError) {
    answer.error = &reply.header.error;
    answer.retry_after = wire_span(reply.header.retry_after_us);
  } else {
    if (reply.header.session) tokens_.answered(answer.ticket, *reply.header.session);
    answer.outputs = reply.body.outputs;
  }
  handler(answer);
}

CallLinkCounts CallChannel::counts() const {
  return link_counts(channel_->stats());
}

}  // namespace volvox
