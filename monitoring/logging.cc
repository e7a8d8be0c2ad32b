#include "monitoring/logging.h"

#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

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
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const nlohmann::ordered_json line{
        {"time", utc(message.time)},
        {"level", std::string(level.data(), level.size())},
        {"message", std::string(message.payload.data(), message.payload.size())}};
    const std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    out.append(text.data(), text.data() + text.size());
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

}  // namespace

void start_logging(LogFormat format, LogLevel level) {
  spdlog::drop("volvox");
  if (format == LogFormat::kJson) {
    auto logger = spdlog::stderr_logger_mt("volvox");
    logger->set_formatter(std::make_unique<JsonFormatter>());
    spdlog::set_default_logger(std::move(logger));
  } else {
    spdlog::set_default_logger(spdlog::stderr_color_mt("volvox"));
  }
  set_log_level(level);
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
