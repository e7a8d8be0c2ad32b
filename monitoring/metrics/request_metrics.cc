#include "monitoring/metrics/request_metrics.h"

#include <algorithm>
#include <array>
#include <vector>

#include "monitoring/metrics/durations.h"
#include "monitoring/metrics/single_metrics.h"

namespace volvox {
namespace {

constexpr std::array<double, 22> kBounds{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                         0.005,   0.01,     0.025,   0.05,   0.1,     0.25,   0.5,   1,
                                         2.5,     5,        10,      30,     60,      120};

prometheus::Histogram& latency(prometheus::Registry& registry, const char* name, const char* help) {
  const prometheus::Histogram::BucketBoundaries bounds(kBounds.begin(), kBounds.end());
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
}

double seconds(std::uint64_t us) {
  return static_cast<double>(us) * kMicrosecond;
}

// The same times of many samples, of those that have any. `counts`: room for a number for each bucket.
void observe(prometheus::Histogram& histogram, std::span<const RequestSample> samples,
             std::uint64_t RequestSample::*time_us, std::vector<double>& counts) {
  std::ranges::fill(counts, 0.0);
  double sum = 0;
  for (const RequestSample& sample : samples) {
    if (sample.error) continue;
    const double time = seconds(sample.*time_us);
    ++counts[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, time) - kBounds.begin())];
    sum += time;
  }
  histogram.ObserveMultiple(counts, sum);
}

}  // namespace

const char* to_string(Bound bound) {
  constexpr const char* kNames[] = {"in_flight", "client", "key", "results", "deadline"};
  return kNames[static_cast<std::size_t>(bound)];
}

const char* to_string(LostClient why) {
  constexpr const char* kNames[] = {"unreachable", "slow", "silent"};
  return kNames[static_cast<std::size_t>(why)];
}

RequestMetrics::RequestMetrics(prometheus::Registry& registry)
    : queue_(latency(registry, "volvox_request_queue_seconds",
                     "Requests answered with a result: from arrival until the first cell was submitted.")),
      compute_(latency(
          registry, "volvox_request_compute_seconds",
          "Requests answered with a result: from the first cell's submission until the last one was done.")),
      total_(latency(registry, "volvox_request_total_seconds",
                     "Requests answered with a result: from arrival until the reply.")),
      requests_in_flight_(
          single_gauge(registry, "volvox_requests_in_flight", "Requests accepted and not answered yet.")),
      bytes_in_flight_(single_gauge(registry, "volvox_request_bytes_in_flight",
                                    "Bytes of the bodies of requests in flight.")),
      clients_refused_(single_counter(registry, "volvox_clients_refused_total",
                                      "Connections that were not let in: no key, or not a known one.")),
      signals_ignored_(single_counter(registry, "volvox_ignored_signals_total",
                                      "Pings and cancels beyond limits.max_signals_per_client.")),
      keys_unreadable_(single_gauge(registry, "volvox_client_keys_unreadable",
                                    "1: the folder of client keys cannot be read; alert on it.")),
      partials_(
          single_counter(registry, "volvox_partials_total", "Parts of streamed answers that were sent.")),
      bundled_parts_(
          single_counter(registry, "volvox_bundled_parts_total", "Parts in the bundles that were taken.")),
      replies_dropped_(
          single_counter(registry, "volvox_replies_dropped_total",
                         "Replies that could not reach their client: it is gone or does not read.")),
      restarts_(single_counter(registry, "volvox_actor_restarts_total",
                               "Actors that failed and were replaced: should stay 0.")),
      clients_(single_gauge(registry, "volvox_clients", "Clients that have requests in flight.")),
      waiting_replies_(single_gauge(registry, "volvox_waiting_replies",
                                    "Replies that have not left for their clients yet, wherever they lie.")),
      waiting_bytes_(single_gauge(registry, "volvox_waiting_reply_bytes", "Bytes of these replies.")),
      backlog_(single_gauge(registry, "volvox_backlog_seconds",
                            "Estimated time that all accepted requests will take.")),
      waiting_parts_(
          single_gauge(registry, "volvox_waiting_parts",
                       "Parts of bundles that wait since limits.max_parts_at_once are under way.")),
      stuck_(single_counter(registry, "volvox_stuck_tasks_total",
                            "Tasks that took longer than device.task_timeout_ms.")),
      reruns_(single_counter(registry, "volvox_reruns_total",
                             "Requests that ran again on another device since theirs failed.")),
      priorities_cut_(
          single_counter(registry, "volvox_priorities_cut_total",
                         "Requests that asked for a higher priority than their client may have.")),
      door_(registry) {
  auto& family = prometheus::BuildCounter()
                     .Name("volvox_requests_total")
                     .Help("Requests answered, by outcome: ok, or the error's name; refusals included.")
                     .Register(registry);
  auto& refused =
      prometheus::BuildCounter()
          .Name("volvox_refused_total")
          .Help(
              "Requests refused for want of room or time: in_flight (all requests, or their bytes), client "
              "(those of one connection), key (those of all connections with one key), results, deadline.")
          .Register(registry);
  for (std::size_t i = 0; i < refused_.size(); ++i)
    refused_[i] = &refused.Add({{"bound", to_string(static_cast<Bound>(i))}});
  auto& bundles =
      prometheus::BuildCounter()
          .Name("volvox_bundles_total")
          .Help("Bundles that came: taken, and each part decided by itself, or refused as a whole.")
          .Register(registry);
  bundles_taken_ = &bundles.Add({{"outcome", "taken"}});
  bundles_refused_ = &bundles.Add({{"outcome", "refused"}});
  auto& lost = prometheus::BuildCounter()
                   .Name("volvox_lost_clients_total")
                   .Help(
                       "Clients that had requests in flight and went away (unreachable), did not read (slow) "
                       "or said nothing (silent); their requests were cancelled.")
                   .Register(registry);
  for (std::size_t i = 0; i < lost_.size(); ++i)
    lost_[i] = &lost.Add({{"reason", to_string(static_cast<LostClient>(i))}});
  for (std::size_t i = 0; i < kOutcomes; ++i) outcomes_[i] = &family.Add({{"outcome", outcome_label(i)}});
}

void RequestMetrics::answered(const RequestSample& sample) {
  outcomes_[outcome_of(sample.error)]->Increment();
  if (sample.error) return;
  queue_.Observe(seconds(sample.queue_us));
  compute_.Observe(seconds(sample.compute_us));
  total_.Observe(seconds(sample.total_us));
}

void RequestMetrics::answered(std::span<const RequestSample> samples) {
  constexpr std::size_t kFew = 16;  // each histogram has more buckets than that
  if (samples.size() < kFew) {
    for (const RequestSample& sample : samples) answered(sample);
    return;
  }
  std::vector<double> counts(kBounds.size() + 1);  // before anything is counted
  std::array<std::size_t, kOutcomes> outcomes{};
  for (const RequestSample& sample : samples) ++outcomes[outcome_of(sample.error)];
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    if (outcomes[i] > 0) outcomes_[i]->Increment(static_cast<double>(outcomes[i]));
  }
  observe(queue_, samples, &RequestSample::queue_us, counts);
  observe(compute_, samples, &RequestSample::compute_us, counts);
  observe(total_, samples, &RequestSample::total_us, counts);
}

void RequestMetrics::set_in_flight(std::size_t requests, std::size_t bytes) {
  requests_in_flight_.Set(static_cast<double>(requests));
  bytes_in_flight_.Set(static_cast<double>(bytes));
}

void RequestMetrics::replies_dropped(std::uint64_t count) {
  replies_dropped_.Increment(static_cast<double>(count));
}

void RequestMetrics::set_edge(const EdgeGauges& gauges) {
  clients_.Set(static_cast<double>(gauges.clients));
  waiting_replies_.Set(static_cast<double>(gauges.waiting_replies));
  waiting_bytes_.Set(static_cast<double>(gauges.waiting_bytes));
  backlog_.Set(gauges.backlog_seconds);
  waiting_parts_.Set(static_cast<double>(gauges.waiting_parts));
}

void RequestMetrics::restarted() {
  restarts_.Increment();
}

}  // namespace volvox
