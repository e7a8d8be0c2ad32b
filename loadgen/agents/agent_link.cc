#include "loadgen/agents/agent_link.h"

#include <cerrno>
#include <utility>

#include "loadgen/agents/load_codec.h"
#include "protocol/client/dealer.h"

namespace volvox {
namespace {

constexpr int kSendQueue = 4096;
// Messages, each of which may be long: those that wait to be taken, and those that are taken at once.
constexpr int kReceiveQueue = 32, kAtOnce = 8;

}  // namespace

Result<std::unique_ptr<AgentLink>> AgentLink::open(const std::string& endpoint, std::uint64_t run,
                                                   std::optional<ChannelKeys> keys) {
  std::unique_ptr<AgentLink> link(new AgentLink(run));
  link->endpoint_ = endpoint;
  ChannelOptions options;
  options.endpoint = endpoint;
  options.limits = load_limits();
  options.keys = std::move(keys);
  options.send_queue = kSendQueue;
  options.receive_queue = kReceiveQueue;
  if (Status ok = dial(link->socket_, link->monitor_, options); !ok) return tl::unexpected(ok.error());
  return link;
}

Status AgentLink::await(Duration at_most) {
  return await_connection(monitor_, endpoint_, at_most);
}

Status AgentLink::send(const LoadMessage& message) {
  auto body = encode_load_message(message);
  if (!body) return tl::unexpected(body.error());
  ZmqFrame header(encode_load_header(run_)), frame(std::move(*body));
  int error = header.send(socket_.handle(), true);
  if (error == 0) error = frame.send(socket_.handle(), false);
  if (error == 0) return {};
  return fail(ErrorCode::kUnavailable, "cannot send to '" + endpoint_ + "': " + zmq_error_text(error));
}

Status AgentLink::receive(std::vector<LoadMessage>& messages) {
  lost_ = monitor_.poll() || lost_ || !monitor_.connected();
  for (int i = 0; i < kAtOnce; ++i) {
    const auto more = receive_one(messages);
    if (!more) return tl::unexpected(more.error());
    if (*more) continue;
    if (!lost_) return {};
    return fail(ErrorCode::kUnavailable, "the connection to '" + endpoint_ + "' broke");
  }
  return {};
}

// Whether there was one.
Result<bool> AgentLink::receive_one(std::vector<LoadMessage>& messages) {
  ZmqFrame header, body;
  if (header.receive(socket_.handle()) != 0) return false;
  if (!header.more() || body.receive(socket_.handle()) != 0 || body.more())
    return fail(ErrorCode::kInvalidArgument, "what answers at '" + endpoint_ + "' is no agent");
  const auto run = decode_load_header(header.bytes());
  if (!run) return tl::unexpected(run.error());
  auto message = decode_load_message(body.bytes());
  if (!message) return tl::unexpected(message.error());
  // An agent that cannot read whose message it is says so to nobody's run.
  if (*run == run_ || (*run == 0 && std::holds_alternative<JobRefused>(*message)))
    messages.push_back(std::move(*message));
  return true;
}

}  // namespace volvox
