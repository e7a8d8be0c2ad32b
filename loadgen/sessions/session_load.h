#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/report/histogram.h"
#include "protocol/client/channel.h"
#include "shapes/lengths.h"

namespace volvox {

// A load of sessions, as a user asks for it.
struct SessionLoadPlan {
  std::string endpoint, model, input = "tokens";
  std::uint32_t model_version = 0;  // 0: the newest
  std::uint32_t vocabulary = 30000;
  std::uint32_t sessions = 1;                     // at once
  std::uint32_t parts = 10;                       // of each; then it ends, and another begins
  Duration pause{};                               // between an answer and the session's next part
  bool random_pauses = true;                      // exponential ones, of that mean
  double repeats = 0, cancels = 0, abandons = 0;  // parts sent twice, cancelled; sessions that are just left
  bool bundles = false;                           // what is due at one time is sent in one message
  bool same_parts = false;  // what fails is sent again as it was; else something else in its place
  Duration measured{};      // afterwards sessions end with their next part
  Duration timeout = std::chrono::seconds(30);  // without an answer for so long a request is lost
  std::uint64_t seed = 1;
  std::optional<ChannelKeys> keys{};  // of an encrypted connection
};

// What came of it.
struct SessionLoadReport {
  std::uint64_t begun = 0, ended = 0, abandoned = 0, over = 0;  // over: the server ended it
  std::uint64_t sent = 0, answered = 0, repeats = 0, cancels = 0;
  std::uint64_t replaced = 0;  // parts that failed, and that something else was sent in place of
  // Whole sessions. Repeated answers that differ count as wrong, too, and parts that were refused as invalid.
  std::uint64_t verified = 0, wrong = 0;
  std::uint64_t lost = 0;                       // requests that were never answered
  std::uint64_t duplicates = 0;                 // answers to requests that had one
  std::uint64_t resent = 0;                     // requests that went to another router
  std::uint64_t late_answers = 0;               // of routers that were given up; dropped
  std::map<std::string, std::uint64_t> errors;  // answers that are errors, by code
  DurationHistogram part;                       // from sending a part to its answer
  double seconds = 0;
};

// Keeps many sessions going over one connection: each sends its parts one after the other, with pauses. In
// place of a part that failed it sends something else; the same again where nobody knows whether it was done.
// When a session ends, its whole input is sent once more as one request that stands alone, and both answers
// must be the same bits. So no knowledge of the model is needed. A stop request is the end before its time;
// what has no answer a timeout after the end is left. The calling thread does it all.
Result<SessionLoadReport> run_session_load(const SessionLoadPlan& plan, const LengthSource& lengths,
                                           const std::stop_token& stop);

// Whether everything was answered, and rightly.
bool is_good(const SessionLoadReport& report);
std::string to_text(const SessionLoadReport& report);
std::string to_json_text(const SessionLoadReport& report);

}  // namespace volvox
