#include "monitoring/metrics/session_metrics.h"

#include <string>

#include "monitoring/metrics/metric_families.h"

namespace volvox {
namespace {

using prometheus::MetricType;

// One number of each kind, under a label that says which.
struct Part {
  const char* label;
  std::uint64_t value;
};

void add(Families& families, const char* name, const char* help, MetricType type, const char* label,
         std::initializer_list<Part> parts) {
  auto& family = families.add(name, help, type);
  for (const Part& part : parts) put(family, {{label, part.label}}, static_cast<double>(part.value));
}

void add(Families& families, const char* name, const char* help, MetricType type, std::uint64_t value) {
  put(families.add(name, help, type), {}, static_cast<double>(value));
}

void add_gauges(Families& families, const SessionFigures& now) {
  constexpr auto kGauge = MetricType::Gauge;
  add(families, "volvox_sessions",
      "Sessions: live; ending, that the device has yet to let go of; remembered, whose end is known.", kGauge,
      "state", {{"live", now.live}, {"ending", now.ending}, {"remembered", now.remembered}});
  add(families, "volvox_session_states", "States of sessions: on the device, on the host, copying.", kGauge,
      "where", {{"device", now.resident}, {"host", now.spilled}, {"copying", now.copying}});
  add(families, "volvox_session_host_bytes", "Bytes of states in the host's memory, of sessions.spill_mib.",
      kGauge, now.host_bytes);
  add(families, "volvox_sessions_in_line",
      "Sessions that wait for a place on the device: for long above 0, raise sessions.max_resident.", kGauge,
      now.in_line);
  add(families, "volvox_session_parts", "Parts of sessions without an answer: running, and waiting.", kGauge,
      "state", {{"running", now.running}, {"waiting", now.waiting}});
  add(families, "volvox_session_parked_parts", "Parts that wait for one before them that has not come.",
      kGauge, now.parked);
  add(families, "volvox_session_parked_bytes",
      "Bytes that parts keep which wait for one before them, a bundle once.", kGauge, now.parked_bytes);
  add(families, "volvox_session_kept_outputs", "Answers kept for repeats.", kGauge, now.kept_outputs);
  add(families, "volvox_session_kept_bytes", "Bytes of the answers kept for repeats.", kGauge,
      now.kept_bytes);
  add(families, "volvox_session_clients", "Clients that have sessions.", kGauge, now.clients);
  add(families, "volvox_session_biggest_client", "What the client has that has most of it.", kGauge, "of",
      {{"sessions", now.most_sessions},
       {"kept_bytes", now.most_kept_bytes},
       {"host_bytes", now.most_host_bytes}});
}

void add_counters(Families& families, const SessionFigures& now) {
  constexpr auto kCounter = MetricType::Counter;
  add(families, "volvox_sessions_begun_total", "Sessions begun.", kCounter, now.begun);
  add(families, "volvox_session_parts_total",
      "Parts of sessions committed and failed; requests repeated (answered from what was kept, or together) "
      "and refused.",
      kCounter, "outcome",
      {{"committed", now.committed},
       {"failed", now.failed},
       {"repeated", now.repeated},
       {"refused", now.refused}});
  add(families, "volvox_session_parked_too_long_total",
      "Parts refused because the one before them did not come in time.", kCounter, now.parked_too_long);
  add(families, "volvox_session_conflicts_total",
      "Requests refused because their part, or their nonce, was taken with other content.", kCounter,
      now.conflicts);
  add(families, "volvox_session_share_refusals_total",
      "Sessions not begun, because their client has as many as it may.", kCounter, now.over_share);
  add(families, "volvox_sessions_gave_way_total",
      "Sessions that ended to make room for clients that have less; they count as evicted, too.", kCounter,
      now.gave_way);
  add(families, "volvox_session_spills_total", "States copied to the host.", kCounter, now.spills);
  add(families, "volvox_session_failed_spills_total",
      "States that the host had no memory for: raise sessions.spill_mib.", kCounter, now.failed_spills);
  add(families, "volvox_session_restores_total", "States copied back to the device.", kCounter, now.restores);
  add(families, "volvox_session_moves_total", "States copied from one device to another.", kCounter,
      now.moves);
  auto& ended = families.add("volvox_sessions_ended_total", "Sessions ended, by the reason.", kCounter);
  for (const auto& [reason, count] : now.releases) {
    put(ended, {{"reason", std::string(reason)}}, static_cast<double>(count));
  }
}

}  // namespace

void SessionMetrics::publish(const SessionFigures& figures) {
  const std::lock_guard lock(mutex_);
  figures_ = figures;
}

std::vector<prometheus::MetricFamily> SessionMetrics::Collect() const {
  std::unique_lock lock(mutex_);
  const auto figures = figures_;
  lock.unlock();
  Families families;
  if (figures) {
    add_gauges(families, *figures);
    add_counters(families, *figures);
  }
  return families.take();
}

}  // namespace volvox
