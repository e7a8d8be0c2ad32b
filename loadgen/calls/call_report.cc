#include "loadgen/calls/call_report.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "loadgen/report/format.h"
#include "loadgen/report/percentiles.h"

namespace volvox {
namespace {

nlohmann::json percentiles(const DurationHistogram& times) {
  nlohmann::json json = percentiles_ms(times);
  json["p999"] = in_ms(times.percentile(0.999));
  return json;
}

std::string percentiles_text(const DurationHistogram& times) {
  const nlohmann::json p = percentiles(times);
  const auto of = [&](const char* name) { return p[name].get<double>(); };
  return formatted("p50 %.2f, p90 %.2f, p99 %.2f, p99.9 %.2f, max %.2f ms", of("p50"), of("p90"), of("p99"),
                   of("p999"), of("max"));
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

double cpu_us_per_frame(const CallOutcome& outcome) {
  return 1e6 * ratio(outcome.cpu_seconds, static_cast<double>(outcome.tally.frames()));
}

// The frames of a call whose rows are all of it.
std::vector<float> rows_of(const CallAudio& audio, const CallRecord& record) {
  std::vector<float> rows, scratch(audio.window());
  for (std::uint32_t frame = 0; frame < record.frames; ++frame) {
    const auto samples = audio.frame(record.voice, frame, scratch);
    rows.insert(rows.end(), samples.begin(), samples.end());
  }
  return rows;
}

// How many frames' rows of an output differ. One with a row for each frame is as long as what was recorded;
// of another only the last row is known.
std::uint64_t wrong_rows(std::span<const std::byte> recorded, std::span<const std::byte> right,
                         std::uint32_t frames) {
  const std::size_t width = recorded.size() / frames;
  if (width == 0 || recorded.size() % frames != 0) return recorded.size() == right.size() ? 0 : frames;
  if (right.size() == width) {
    const auto last = recorded.last(width);
    return std::equal(last.begin(), last.end(), right.begin()) ? 0 : 1;
  }
  if (right.size() != recorded.size()) return frames;
  std::uint64_t wrong = 0;
  for (std::uint32_t frame = 0; frame < frames; ++frame) {
    const auto mine = recorded.subspan(frame * width, width);
    wrong += std::equal(mine.begin(), mine.end(), right.begin() + static_cast<std::ptrdiff_t>(frame * width))
                 ? 0
                 : 1;
  }
  return wrong;
}

std::uint64_t wrong_frames(const CallRecord& record, const std::vector<std::vector<std::byte>>& right) {
  if (record.outputs.size() != right.size()) return record.frames;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    wrong = std::max(wrong, wrong_rows(record.outputs[i], right[i], record.frames));
  return wrong;
}

}  // namespace

Status verify_calls(const CallAudio& audio, const CallModel& model, CallSummary& summary) {
  summary.verifies = true;
  for (std::size_t i = 0; i < summary.outcome.records.size(); ++i) {
    const CallRecord& record = summary.outcome.records[i];
    if (record.frames == 0) continue;
    const auto right = model(rows_of(audio, record), record.frames);
    if (!right) return tl::unexpected(right.error());
    const std::uint64_t wrong = wrong_frames(record, *right);
    summary.verified += record.frames;
    summary.wrong += wrong;
    if (wrong > 0 && summary.first_wrong.empty())
      summary.first_wrong = "recorded call " + std::to_string(i) + ": " + std::to_string(wrong) + " of " +
                            std::to_string(record.frames) + " frames were answered with other bits";
  }
  return {};
}

bool is_good(const CallSummary& summary) {
  const CallTally& tally = summary.outcome.tally;
  return tally.frames() > 0 && tally.lost() == 0 && summary.outcome.link.duplicates == 0 &&
         summary.wrong == 0 && (!summary.verifies || summary.verified > 0);
}

std::string to_json_text(const CallSummary& summary) {
  const CallOutcome& outcome = summary.outcome;
  const CallTally& tally = outcome.tally;
  nlohmann::json json;
  json["calls"] = summary.plan.calls;
  json["live"] = outcome.live;
  json["joins"] = outcome.joins;
  json["leaves"] = outcome.leaves;
  json["dropped"] = outcome.dropped;
  json["ended"] = outcome.ended;
  json["frames"] = tally.frames();
  json["sent"] = tally.sent();
  json["repeats"] = tally.repeats();
  json["answered"] = tally.answered();
  json["lost"] = tally.lost();
  json["late"] = tally.late();
  json["late_fraction"] = tally.late_fraction();
  json["errors"] = nlohmann::json::object();
  for (const auto& [code, failures] : tally.errors())
    json["errors"][std::string(to_string(code))] = failures.count;
  json["verified"] = summary.verified;
  json["wrong"] = summary.wrong;
  json["duplicates"] = outcome.link.duplicates;
  json["late_answers"] = outcome.link.late_answers;
  json["resent"] = outcome.link.resent;
  json["latency_ms"] = percentiles(tally.latency());
  json["behind_ms"] = percentiles(tally.behind());
  json["seconds"] = outcome.seconds;
  json["cpu"] = {{"seconds", outcome.cpu_seconds},
                 {"share", ratio(outcome.cpu_seconds, outcome.seconds)},
                 {"us_per_frame", cpu_us_per_frame(outcome)}};
  return json.dump(2) + "\n";
}

std::string to_text(const CallSummary& summary) {
  const CallOutcome& outcome = summary.outcome;
  const CallTally& tally = outcome.tally;
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  std::string text = "calls    " + number(outcome.live) + " live, " + number(outcome.joins) + " joins, " +
                     number(outcome.leaves) + " leaves, " + number(outcome.dropped) + " given up, " +
                     number(outcome.ended) + " ended by the server\n";
  text += "frames   " + number(tally.frames()) + " due, " + number(tally.answered()) + " answered, " +
          number(tally.lost()) + " lost; " + number(tally.sent()) + " messages, " + number(tally.repeats()) +
          " of them repeats\n";
  char line[256];
  std::snprintf(line, sizeof line, "late     %llu answers, %.4f %% of the frames with the lost ones\n",
                static_cast<unsigned long long>(tally.late()), 100 * tally.late_fraction());
  text += line;
  text += "latency  " + percentiles_text(tally.latency()) + ", from when a frame was due\n";
  text += "behind   " + percentiles_text(tally.behind()) + ": the load itself\n";
  std::snprintf(line, sizeof line, "cpu      %.2f s in %.2f s, %.2f us a frame\n", outcome.cpu_seconds,
                outcome.seconds, cpu_us_per_frame(outcome));
  text += line;
  for (const auto& [code, failures] : tally.errors())
    text += "error    " + std::string(to_string(code)) + ": " + number(failures.count) +
            " times, as: " + failures.first + "\n";
  if (outcome.link.duplicates > 0) text += "WRONG    " + number(outcome.link.duplicates) + " duplicates\n";
  if (summary.verifies)
    text += "verified " + number(summary.verified) + " frames, " + number(summary.wrong) + " wrong\n";
  if (!summary.first_wrong.empty()) text += "WRONG    " + summary.first_wrong + "\n";
  return text;
}

}  // namespace volvox
