#include "actors/admin/trace_commands.h"

#include <chrono>
#include <utility>

#include <unistd.h>

#include "actors/admin/admin_line.h"
#include "base/clock.h"
#include "base/wall_clock.h"

namespace volvox {
namespace {

using nlohmann::json;

Result<std::uint64_t> number_in(const json& command, const char* key) {
  const auto found = command.find(key);
  if (found != command.end() && found->is_number_unsigned()) return found->get<std::uint64_t>();
  return invalid(std::string(key) + " must be given, as a whole number");
}

}  // namespace

std::optional<std::string> TraceCommands::handle(const std::string& name, const json& command) const {
  if (name != "trace.start" && name != "trace.read") return std::nullopt;
  auto answer = name == "trace.start" ? start(command) : read(command);
  if (!answer) return admin_failure(answer.error());
  (*answer)["ok"] = true;
  return admin_text(*answer);
}

Result<json> TraceCommands::start(const json& command) const {
  const auto seconds = command.find("seconds");
  const double longest = std::chrono::duration<double>(longest_).count();
  const bool good = seconds != command.end() && seconds->is_number() && seconds->get<double>() > 0 &&
                    seconds->get<double>() <= longest;
  if (!good) {
    return invalid("seconds must be a number above 0, and no more than tracing.capture_seconds allows: " +
                   std::to_string(static_cast<int>(longest)));
  }
  const TimePoint now = steady_now();
  const std::lock_guard lock(reading_->mutex);
  if (reading_->events && now - reading_->asked < kPatience)
    return fail(ErrorCode::kOverloaded, "another trace is being read; try again in a few seconds");
  const std::chrono::duration<double> span(seconds->get<double>());
  const auto number = recorder_->start_capture(now, now + std::chrono::duration_cast<Duration>(span));
  if (!number) return tl::unexpected(number.error());
  reading_->events = nullptr;
  return json{{"trace", *number}};
}

Result<json> TraceCommands::read(const json& command) const {
  const auto number = number_in(command, "trace"), from = number_in(command, "from");
  if (!number) return tl::unexpected(number.error());
  if (!from) return tl::unexpected(from.error());
  const TimePoint now = steady_now();
  const std::lock_guard lock(reading_->mutex);
  if (!reading_->events || reading_->number != *number) {
    auto capture = recorder_->finish_capture(*number, now);
    if (!capture) return tl::unexpected(capture.error());
    if (*capture == nullptr) return json{{"running", true}};
    reading_->number = *number;
    reading_->events = std::make_unique<PerfettoEvents>(
        std::move(*capture), static_cast<std::uint64_t>(::getpid()), "volvox '" + process_ + "'");
  }
  reading_->asked = now;
  json answer = piece(*reading_->events, *from);
  if (!answer.contains("next")) reading_->events = nullptr;
  return answer;
}

json TraceCommands::piece(const PerfettoEvents& events, std::size_t from) const {
  const TraceCapture& capture = events.capture();
  json answer = {{"events", json::array()}};
  json& list = answer["events"];
  if (from == 0) {
    list = events.names();
    answer["requests"] = capture.requests.size();
    answer["tasks"] = capture.tasks.size();
    answer["lost"] = capture.lost;
    answer["begun_unix_ns"] = WallClock::now().unix_ns(capture.begun);
    answer["seconds"] = std::chrono::duration<double>(capture.ended - capture.begun).count();
  }
  std::size_t bytes = 0;
  for (; from < events.size() && bytes < kPieceBytes; ++from) {
    const std::size_t before = list.size();
    events.append(from, list);
    for (std::size_t i = before; i < list.size(); ++i) bytes += admin_text(list[i]).size();
  }
  if (from < events.size()) answer["next"] = from;
  return answer;
}

}  // namespace volvox
