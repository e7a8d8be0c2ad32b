#include "monitoring/log/logging.h"

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "monitoring/log/log_pump.h"

namespace volvox {
namespace {

constexpr std::array<spdlog::level::level_enum, 5> kLevels{
    spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err, spdlog::level::off};

std::string utc(spdlog::log_clock::time_point at) {
  const std::time_t seconds = spdlog::log_clock::to_time_t(at);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char whole[32];
  std::strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &parts);
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count() % 1'000'000;
  return fmt::format("{}.{:06}Z", whole, us);
}

class JsonFormatter final : public spdlog::formatter {
 public:
  explicit JsonFormatter(const LogSubject& subject) : subject_(subject) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json line{{"time", utc(message.time)},
                                {"level", std::string(level.data(), level.size())},
                                {"message", std::string(message.payload.data(), message.payload.size())}};
    if (subject_.request != 0) line["request"] = subject_.request;
    if (subject_.trace.valid()) line["trace_id"] = to_hex(subject_.trace);
    const std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    out.append(text.data(), text.data() + text.size());
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>(subject_);
  }

 private:
  LogSubject subject_;
};

// At the end of a line of text, with the end itself.
std::string line_end(const LogSubject& subject) {
  std::string end;
  if (subject.request != 0) end += fmt::format(" request={}", subject.request);
  if (subject.trace.valid()) end += " trace_id=" + to_hex(subject.trace);
  return end + "\n";
}

std::unique_ptr<spdlog::formatter> make_formatter(LogFormat format, const LogSubject& subject = {}) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>(subject);
  return std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::local, line_end(subject));
}

std::string format_line(spdlog::formatter& formatter, const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t text;
  formatter.format(message, text);
  return {text.data(), text.size()};
}

// What stands in for lines that nobody could read.
std::function<std::string(std::uint64_t)> gap_line(LogFormat format) {
  return [formatter = std::shared_ptr(make_formatter(format))](std::uint64_t missing) {
    const std::string text = fmt::format("{} lines of the log are missing: nobody read it in time", missing);
    return format_line(*formatter, {"volvox", spdlog::level::warn, text});
  };
}

// In colour where a person looks at it.
class PumpSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  PumpSink(int fd, LogFormat format, std::size_t lines)
      : base_sink(make_formatter(format)),
        format_(format),
        colored_(format == LogFormat::kText && isatty(fd) != 0),
        pump_(fd, lines, gap_line(format)) {}

  bool flush_within(Duration at_most) const { return pump_.flush(at_most); }
  std::uint64_t dropped() const { return pump_.dropped(); }
  void log_about(const LogSubject& subject, const spdlog::details::log_msg& message) {
    push(format_line(*make_formatter(format_, subject), message), message);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    push(format_line(*formatter_, message), message);
  }
  void push(std::string line, const spdlog::details::log_msg& message) {
    if (colored_ && message.color_range_end > message.color_range_start) {
      line.insert(message.color_range_end, "\033[m");
      line.insert(message.color_range_start, kColors[static_cast<std::size_t>(message.level)]);
    }
    pump_.push(std::move(line));
  }
  void flush_() override {}  // never waits

  static constexpr std::array<const char*, 7> kColors{
      "\033[37m", "\033[36m", "\033[32m", "\033[33m\033[1m", "\033[31m\033[1m", "\033[1m\033[41m", ""};
  const LogFormat format_;
  const bool colored_;
  LogPump pump_;
};

std::atomic<std::uint64_t> dropped_before{0};  // by sinks that were replaced

// The one of the process's logger; null before start_logging().
std::shared_ptr<PumpSink> sink_in_use() {
  const auto logger = spdlog::default_logger();
  if (!logger || logger->sinks().size() != 1) return nullptr;
  return std::dynamic_pointer_cast<PumpSink>(logger->sinks().front());
}

}  // namespace

void start_logging(LogFormat format, LogLevel level, std::size_t lines, int fd) {
  if (const auto before = sink_in_use()) dropped_before += before->dropped();
  auto sink = std::make_shared<PumpSink>(fd, format, lines);
  spdlog::drop("volvox");
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("volvox", std::move(sink)));
  set_log_level(level);
}

void log_about(const LogSubject& subject, LogLevel level, std::string_view message) {
  const auto as = kLevels[static_cast<std::size_t>(level)];
  if (!spdlog::should_log(as)) return;
  if (const auto sink = sink_in_use()) {
    return sink->log_about(subject, {"volvox", as, spdlog::string_view_t(message.data(), message.size())});
  }
  std::string line = std::string(message) + line_end(subject);
  line.pop_back();
  spdlog::log(as, line);
}

bool flush_log(Duration at_most) {
  const auto sink = sink_in_use();
  return !sink || sink->flush_within(at_most);
}

std::uint64_t log_lines_dropped() {
  const auto sink = sink_in_use();
  return dropped_before + (sink ? sink->dropped() : 0);
}

void set_log_level(LogLevel level) {
  spdlog::set_level(kLevels[static_cast<std::size_t>(level)]);
}

LogLevel log_level() {
  const auto level = spdlog::get_level();
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] >= level) return static_cast<LogLevel>(i);
  }
  return LogLevel::kOff;
}

}  // namespace volvox
