#pragma once

#include <cstddef>
#include <cstdint>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace volvox {

// What a router, or a node, counts of its cluster. All calls from any thread.
class ClusterMetrics {
 public:
  explicit ClusterMetrics(prometheus::Registry& registry);

  // When the first certificate that this process shows, or trusts, ends: seconds since 1970. Nothing is shown
  // where links are not encrypted.
  void set_certificate_end(std::int64_t since_1970);
  void set_members(std::size_t members, std::size_t in_flight);
  void joined() { joins_.Increment(); }
  void join_refused() { refused_.Increment(); }
  void connection_refused() { connections_refused_.Increment(); }
  void newcomer_dropped() { newcomers_dropped_.Increment(); }
  void set_queued_bytes(std::size_t bytes) { queued_bytes_.Set(static_cast<double>(bytes)); }
  void dial_failed() { dials_failed_.Increment(); }
  void suspected() { suspicions_.Increment(); }
  void died() { deaths_.Increment(); }
  void retried() { retries_.Increment(); }
  void late_answer() { late_.Increment(); }
  void undecided() { undecided_.Increment(); }
  void conflict() { conflicts_.Increment(); }

 private:
  prometheus::Gauge &members_, &in_flight_;
  prometheus::Counter &joins_, &refused_, &suspicions_, &deaths_, &retries_, &late_, &conflicts_, &undecided_;
  prometheus::Counter &connections_refused_, &dials_failed_, &newcomers_dropped_;
  prometheus::Gauge& queued_bytes_;
  prometheus::Family<prometheus::Gauge>& certificate_end_;
};

}  // namespace volvox
