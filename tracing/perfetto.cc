#include "tracing/perfetto.h"

#include <algorithm>
#include <map>
#include <utility>

namespace volvox {
namespace {

using nlohmann::json;

constexpr std::uint64_t kRequestsThread = 1;
constexpr std::uint64_t kMostWorkers = 1024;              // of a device
constexpr Duration kMark = std::chrono::microseconds(1);  // that a request's arrival takes on its thread

double microseconds_between(TimePoint from, TimePoint to) {
  return static_cast<double>((to - from).count()) / 1000.0;
}

std::uint64_t thread_of(const TaskSpan& task) {
  return kRequestsThread + 1 + task.device * kMostWorkers + task.worker;
}

}  // namespace

PerfettoEvents::PerfettoEvents(TraceCapturePtr capture, std::uint64_t pid, std::string process)
    : capture_(std::move(capture)), pid_(pid), process_(std::move(process)) {
  for (const RequestSpan& request : capture_->requests) tasks_of_[request.key] = {~std::size_t{0}, 0};
  for (std::size_t i = 0; i < capture_->tasks.size(); ++i) {
    for (const std::uint64_t key : capture_->tasks[i].joined) {
      const auto found = tasks_of_.find(key);
      if (found != tasks_of_.end()) found->second.first = std::min(found->second.first, i);
    }
    for (const std::uint64_t key : capture_->tasks[i].left) {
      const auto found = tasks_of_.find(key);
      if (found != tasks_of_.end()) found->second = {found->second.first, i, true};
    }
  }
  std::erase_if(tasks_of_, [&](const auto& entry) { return entry.second.first >= capture_->tasks.size(); });
}

json PerfettoEvents::names() const {
  json names = json::array();
  const auto name = [&](const char* what, std::uint64_t thread, const std::string& text) {
    names.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", pid_}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  name("process_name", 0, process_);
  name("thread_name", kRequestsThread, "requests");
  std::map<std::uint64_t, std::string> workers;
  for (const TaskSpan& task : capture_->tasks)
    workers.try_emplace(thread_of(task), task.device_name + " queue " + std::to_string(task.worker));
  for (const auto& [thread, text] : workers) name("thread_name", thread, text);
  return names;
}

void PerfettoEvents::append(std::size_t number, json& events) const {
  const std::size_t tasks = capture_->tasks.size();
  number < tasks ? append_task(number, events) : append_request(number - tasks, events);
}

json PerfettoEvents::event(const char* phase, TimePoint at) const {
  return {{"ph", phase}, {"pid", pid_}, {"ts", microseconds_between(capture_->begun, at)}};
}

json PerfettoEvents::flow(const char* phase, std::uint64_t key, TimePoint at, std::uint64_t thread) const {
  json made = event(phase, at);
  made.update({{"cat", "flow"}, {"name", "request"}, {"id", key}, {"tid", thread}});
  if (*phase == 'f') made["bp"] = "e";
  return made;
}

void PerfettoEvents::append_task(std::size_t number, json& events) const {
  const TaskSpan& task = capture_->tasks[number];
  // One that was running already is shown from where the trace begins.
  const TimePoint begun = std::max(task.begun, capture_->begun);
  json slice = event("X", begun);
  slice.update({{"cat", "task"},
                {"name", task.cell},
                {"tid", thread_of(task)},
                {"dur", microseconds_between(begun, task.ended)},
                {"args",
                 {{"seq", task.seq},
                  {"rows", task.rows},
                  {"padded_rows", task.padded_rows},
                  {"joined", task.joined},
                  {"left", task.left},
                  {"clock", task.own_clock ? "queue" : "worker"}}}});
  events.push_back(std::move(slice));
  for (const std::uint64_t key : task.joined) {
    const auto found = tasks_of_.find(key);
    if (found == tasks_of_.end() || found->second.first != number) continue;
    const bool only = found->second.leaves && found->second.last == number;
    events.push_back(flow(only || !found->second.leaves ? "f" : "t", key, begun, thread_of(task)));
  }
  for (const std::uint64_t key : task.left) {
    const auto found = tasks_of_.find(key);
    if (found != tasks_of_.end() && found->second.last == number && found->second.first != number)
      events.push_back(flow("f", key, begun, thread_of(task)));
  }
}

void PerfettoEvents::append_request(std::size_t number, json& events) const {
  const RequestSpan& request = capture_->requests[number];
  const std::vector<SpanPart> parts = parts_of(request);
  if (parts.empty()) return;
  const TimePoint begun = parts.front().begun;
  const auto step = [&](const char* phase, std::string_view name, TimePoint at) {
    json made = event(phase, at);
    made.update({{"cat", "request"}, {"name", name}, {"id", request.key}, {"tid", kRequestsThread}});
    return made;
  };
  json whole = step("b", request.model, begun);
  whole["args"] = {{"trace", to_hex(request.context.trace)},
                   {"span", to_hex(request.span)},
                   {"request", request.key},
                   {"version", request.version},
                   {"door", to_string(request.door)},
                   {"cells", request.cells},
                   {"outcome", request.error ? to_string(*request.error) : "ok"}};
  if (request.size != 0) whole["args"]["size"] = request.size;
  if (request.context.parent != 0) whole["args"]["parent"] = to_hex(request.context.parent);
  if (request.attempts > 0) whole["args"].update({{"node", request.node}, {"attempts", request.attempts}});
  events.push_back(std::move(whole));
  for (const SpanPart& part : parts) {
    events.push_back(step("b", part.name, part.begun));
    events.push_back(step("e", part.name, part.ended));
  }
  events.push_back(step("e", request.model, parts.back().ended));

  // Slices of one thread must not overlap.
  json mark = event("X", begun);
  Duration width = kMark;
  if (number + 1 < capture_->requests.size()) {
    const auto next = capture_->requests[number + 1].at(SpanStage::kArrived);
    if (next) width = std::clamp<Duration>(*next - begun, Duration::zero(), kMark);
  }
  mark.update({{"cat", "arrival"},
               {"name", request.model},
               {"tid", kRequestsThread},
               {"dur", microseconds_between(begun, begun + width)},
               {"args", {{"request", request.key}}}});
  events.push_back(std::move(mark));
  if (tasks_of_.contains(request.key)) events.push_back(flow("s", request.key, begun, kRequestsThread));
}

}  // namespace volvox
