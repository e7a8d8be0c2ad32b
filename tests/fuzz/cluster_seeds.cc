#include "tests/fuzz/cluster_seeds.h"

#include <span>
#include <vector>

#include "protocol/cluster/cluster_codec.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

const WireLimits kLimits;

ClusterBytes bytes_of(std::string_view text) {
  return WireBuffer::share_copy_of(std::as_bytes(std::span(text)));
}

std::string written(const ClusterMessage& message) {
  const auto bytes = encode_cluster_message(message, kLimits);
  require(bytes.has_value(), "a seed can be encoded");
  const ClusterBytes whole = bytes->whole();
  return {reinterpret_cast<const char*>(whole->data()), whole->size()};
}

// One of each kind, with its lists and texts.
std::vector<ClusterMessage> samples() {
  ClusterJoinReply refusal;
  refusal.error = {ErrorCode::kPermissionDenied, "another cluster"};
  refusal.name = "router0";
  ClusterJoinReply welcome = refusal;
  welcome.accepted = true;
  return {ClusterJoin{"volvox", "node0", 7, 1, 1, {{"m", 1, 2, 3, 4}, {"größer", 2, 3, 4, 5}}},
          refusal,
          welcome,
          ClusterPing{5, 1, 2, 3, 4},
          ClusterReport{5, 1, 2, 3, 4, 5, 6, 7, 8, {9, 10}},
          ClusterSubmit{{1, 2, 3}, 500, bytes_of("header"), bytes_of("body")},
          ClusterCancel{{1, 2, 3}},
          ClusterResult{{1, 2, 3}, true, bytes_of("header"), bytes_of("body")},
          ClusterDrain{"an upgrade"},
          ClusterLeave{"the end"},
          ClusterRejoin{"it was silent"},
          ClusterAck{2}};
}

// As large as two messages can be at once: together they make one that is too large for itself.
void add_large(std::vector<std::string>& seeds) {
  constexpr std::size_t kBody = 96U << 10, kFirst = 60U << 10;
  const std::string body(kBody, 'b');
  const std::string whole = written(ClusterResult{{1, 2, 3}, true, bytes_of("header"), bytes_of(body)});
  const std::string_view text = whole;
  const std::string begin = written(ClusterFragment{1, 0, whole.size(), bytes_of(text.substr(0, kFirst))});
  const std::string end = written(ClusterFragment{1, kFirst, whole.size(), bytes_of(text.substr(kFirst))});
  seeds.push_back(join(begin, end));
  seeds.push_back(join(begin, begin));
  seeds.push_back(
      join(written(ClusterSubmit{{1, 2, 3}, 500, bytes_of("header"), bytes_of(body.substr(kFirst))}), end));
}

}  // namespace

std::vector<std::string> cluster_seeds() {
  std::vector<std::string> seeds;
  const std::string whole = written(samples().front());
  for (const ClusterMessage& message : samples()) seeds.push_back(join(written(message), whole));
  const std::size_t half = whole.size() / 2;
  const std::string_view text = whole;
  seeds.push_back(join(written(ClusterFragment{1, 0, whole.size(), bytes_of(text.substr(0, half))}),
                       written(ClusterFragment{1, half, whole.size(), bytes_of(text.substr(half))})));
  add_large(seeds);
  return seeds;
}

}  // namespace volvox::fuzz
