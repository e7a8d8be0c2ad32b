#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/cluster/cluster_frames.h"
#include "actors/edge/reply_sink.h"
#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "base/clock.h"
#include "monitoring/metrics/request_metrics.h"

namespace volvox {

// request actor → cluster node: a part of an answer, or its end.
struct ClusterAnswer {
  std::uint32_t seat = 0;   // of the router that asked
  std::uint32_t epoch = 0;  // of its membership there
  std::uint32_t cells = 0;
  std::uint64_t compute_us = 0;
  std::shared_ptr<const ClusterResult> result;
};

// Where the answers to a router's requests go: encoded on the request actor's thread, sent by the cluster
// node.
class ClusterSink final : public ReplySink {
 public:
  ClusterSink(caf::actor node, std::uint32_t seat, std::uint32_t epoch, const ClusterAttempt& attempt,
              const WireLimits& limits, RequestMetrics& metrics)
      : node_(std::move(node)),
        seat_(seat),
        epoch_(epoch),
        attempt_(attempt),
        limits_(limits),
        metrics_(metrics) {}

  void answer(const IncomingRequest& request, const Outcome& outcome) override {
    RequestSample sample{std::nullopt, outcome.queue_us, outcome.compute_us,
                         microseconds(steady_now() - request.arrival)};
    if (outcome.error) sample.error = outcome.error->code;
    metrics_.answered(sample);
    send(outcome, true, 0);
  }
  bool partial(const IncomingRequest&, std::uint32_t index, const Outcome& part) override {
    metrics_.partial_sent();
    send(part, false, index);
    return true;
  }

 private:
  void send(const Outcome& outcome, bool final, std::uint32_t index) {
    const auto result = insist([&] {
      return std::make_shared<const ClusterResult>(result_frames(attempt_, outcome, final, index, limits_));
    });
    const std::uint32_t cells = outcome.error ? 0 : outcome.cells;
    hand_over();
    insist([&] { caf::anon_send(node_, ClusterAnswer{seat_, epoch_, cells, outcome.compute_us, result}); });
  }

  const caf::actor node_;
  const std::uint32_t seat_, epoch_;
  const ClusterAttempt attempt_;
  const WireLimits limits_;
  RequestMetrics& metrics_;
};

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::ClusterAnswer)
