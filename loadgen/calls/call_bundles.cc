#include "loadgen/calls/call_bundles.h"

#include <chrono>
#include <utility>

namespace volvox {

Result<std::unique_ptr<CallLink>> CallBundles::open(const CallTarget& target, std::uint32_t slots) {
  auto channel = ChannelGroup::connect(channel_options(target));
  if (!channel) return tl::unexpected(channel.error());
  return std::unique_ptr<CallLink>(new CallBundles(std::move(*channel), target, slots));
}

CallBundles::CallBundles(std::unique_ptr<ChannelGroup> channel, const CallTarget& target, std::uint32_t slots)
    : channel_(std::move(channel)), input_(target.input), tokens_(slots) {
  message_.header.model = target.model;
  message_.header.model_version = target.model_version;
  channel_->on_bundle([this](BundleReply&& reply) { take(reply); });
}

TimePoint CallBundles::now() {
  return std::chrono::steady_clock::now();
}

Status CallBundles::send(const CallFrame& frame) {
  const std::size_t bytes = sizeof(float) * (rows_.size() + frame.samples.size());
  if (tickets_.size() == limits_.max_bundle_parts || bytes > limits_.max_body_bytes / 2) {
    if (Status ok = flush(); !ok) return ok;
  }
  message_.parts.add(tokens_.of(frame), frame.samples.empty() ? 0 : 1);
  rows_.insert(rows_.end(), frame.samples.begin(), frame.samples.end());
  tickets_.push_back(frame.ticket);
  return {};
}

Status CallBundles::flush() {
  if (tickets_.empty()) return {};
  message_.inputs.clear();
  if (const auto steps = static_cast<std::int64_t>(message_.parts.steps()); steps > 0) {
    const auto width = static_cast<std::int64_t>(rows_.size()) / steps;
    message_.inputs.push_back(wire_tensor(input_, std::span(std::as_const(rows_)), {steps, width}));
  }
  const auto id = channel_->send(message_);
  message_.parts.clear();
  rows_.clear();
  if (!id) {
    unsent_.push_back({std::exchange(tickets_, {}), id.error()});
    return tl::unexpected(id.error());
  }
  flights_.emplace(*id, std::move(tickets_));
  tickets_.clear();
  if (!spare_.empty()) {
    tickets_ = std::move(spare_.back());
    tickets_.clear();
    spare_.pop_back();
  }
  return {};
}

void CallBundles::receive(Duration at_most, const Handler& handler) {
  handler_ = &handler;
  for (const Unsent& unsent : std::exchange(unsent_, {})) {
    for (const std::uint64_t ticket : unsent.tickets) answer({.ticket = ticket, .error = &unsent.error});
    at_most = Duration{0};
  }
  channel_->poll(at_most, [](Reply&&) {});
  handler_ = nullptr;
}

void CallBundles::take(const BundleReply& reply) {
  const auto flight = flights_.find(reply.first_id);
  if (flight == flights_.end()) return;
  // Moved out: what is answered may send, and so add flights.
  std::vector<std::uint64_t> tickets = std::move(flight->second);
  const ReplyBundle& body = reply.body;
  for (std::size_t i = 0; i < body.done.size(); ++i) {
    const std::uint64_t ticket = tickets[body.done[i]];
    if (const auto token = body.tokens.answered(i); token && *token) tokens_.answered(ticket, **token);
    outputs_.clear();
    for (std::size_t output = 0; i < body.with_outputs && output < body.outputs.size(); ++output)
      outputs_.push_back(body.outputs[output].at(i));
    answer({.ticket = ticket, .outputs = outputs_});
  }
  for (const PartError& failed : body.errors) {
    answer({.ticket = tickets[failed.part],
            .error = &failed.error,
            .retry_after = wire_span(failed.retry_after_us)});
  }
  if (reply.final) {
    flights_.erase(reply.first_id);
    spare_.push_back(std::move(tickets));
  } else {
    flights_[reply.first_id] = std::move(tickets);
  }
}

CallLinkCounts CallBundles::counts() const {
  return link_counts(channel_->stats());
}

}  // namespace volvox
