// What processes of a cluster say to each other: each message is refused by a typed error, or becomes a value
// that means the same after it has been written and read once more; and a link that takes in two of them, one
// of which may be a fragment, holds no more than came.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/cluster/cluster_codec.h"
#include "protocol/cluster/cluster_link.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

const WireLimits kLimits;

void check_message(Bytes bytes) {
  const auto message = decode_cluster_message(WireBuffer::share_copy_of(bytes), kLimits);
  if (!message) return require_refusal(message.error());
  if (std::holds_alternative<ClusterUnknown>(*message)) return;
  const auto written = encode_cluster_message(*message, kLimits);
  require(written.has_value(), "a message that was read can be written");
  const auto again = decode_cluster_message(written->whole(), kLimits);
  require(again && again->index() == message->index(), "a message is of its kind when it is read again");
  const auto rewritten = encode_cluster_message(*again, kLimits);
  require(rewritten && std::ranges::equal(rewritten->whole()->bytes(), written->whole()->bytes()),
          "a message means the same when it is read again");
}

void check_link(Bytes first, Bytes second) {
  ClusterFlowLimits limits;
  limits.wire = kLimits;
  ClusterLink link(LinkEnd::kAnswers, limits);
  for (const Bytes bytes : {first, second}) {
    const auto taken = link.take(WireBuffer::share_copy_of(bytes));
    require(!link.next() || !link.next(), "a message is a fragment with an acknowledgement, or none");
    if (!taken) return require_refusal(taken.error());
    require(!*taken || !std::holds_alternative<ClusterFragment>(**taken), "fragments are for the link");
  }
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [first, second] = volvox::fuzz::split(data, size);
  volvox::fuzz::check_message(first);
  volvox::fuzz::check_message(second);
  volvox::fuzz::check_link(first, second);
  return 0;
}
