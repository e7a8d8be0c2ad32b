#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "loadgen/agents/coordinator.h"
#include "loadgen/report/verify.h"
#include "loadgen/run/misbehaviour.h"
#include "loadgen/run/run.h"

namespace volvox {

// Everything that a load found out.
struct LoadSummary {
  std::string endpoint, model, arrivals, shapes;  // what was asked for, in words
  LoadOutcome outcome;
  std::map<std::string, LoadTally> models;  // what of the outcome belongs to each
  std::vector<AgentReport> agents;          // that offered it; empty: this process did
  VerifyOutcome verification;
  MisbehaviourCounts misbehaved;
  std::map<std::string, double>
      mean_batch;  // rows a task, by cell type; empty if the server's metrics were out of reach
};

// The report for programs; docs/load.md explains the keys:
//   offered             requests due within the measurement (the warm-up is not counted here)
//   completed           of these, answered with a result
//   on_time             of these, by their deadline; goodput_rps: on_time / seconds
//   errors              of these, all others: {"OVERLOADED": 3}; LOST: no reply within the client's time
//   wrong, verified     answers off the reference, of answers compared with it
//   duplicates          replies to a request that had its final reply already, or that was never sent
//   resent              requests that went to another router, for the one before was gone, silent or unable
//   late_answers        answers of routers that were given up; not delivered
//   seconds             from the start of the measurement to its end, or to its last answer if that came
//   later throughput_rps      completed / seconds latency_ms          from the scheduled send to the reply
//   queue_ms            from arrival at the server to the first cell's start, as the server states it
//   compute_ms          from the first cell's start to the last one's end, as the server states it
//   late_ms             from the scheduled to the actual send: how far to trust the others
//   gap_variance_ratio  variance of the gaps between a connection's sends, over the planned gaps'; 0 where
//   the
//                       plan has none or even ones
//   refused_ms          from the send to the reply, of OVERLOADED and DEADLINE_EXCEEDED
//   retry_after_ms      what the server advised with these
//   mean_batch          rows a task, by cell type
//   models              by model: offered, completed, errors and latency_ms of its requests, and
//                       "outcomes", what became of all it was sent in the warm-up and after: {"OK": 90}
//   misbehaved          {"sent", "vanished"}: requests of the connections that misbehaved, those cut
// And of a load that agents offered:
//   agents              a list of {"endpoint", "state", "why", "share", "clock_offset_ms", "clock_bound_ms",
//                       "offered", "completed", "failed"}
//   missing_share       how much of the load that was planned is in none of the numbers above, 0 to 1
//   partial             whether an agent is missing, or was cut short
// The "_ms" are {"p50", "p90", "p99", "max"}, zeros when there is nothing to show.
nlohmann::json to_json(const LoadSummary& report);

// The tallies of an outcome's classes by the models of the mix, under model_name().
std::map<std::string, LoadTally> by_model(const RequestMix& mix, const LoadOutcome& outcome);

// The report for people, in some twelve lines.
std::string to_text(const LoadSummary& report);

// Whether agents did not do their share.
bool is_partial(const LoadSummary& report);

// Whether the load shows a server that works: something completed and nothing was wrong or answered twice.
bool is_good(const LoadSummary& report);

}  // namespace volvox
