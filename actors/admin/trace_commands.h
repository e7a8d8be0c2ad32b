#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/time.h"
#include "tracing/perfetto.h"
#include "tracing/recorder.h"

namespace volvox {

// What the operator asks of the recorder. {"command": "trace.start", "seconds": S} answers {"trace": N};
// {"command": "trace.read", "trace": N, "from": K}, from 0 on: {"running": true} until the time is over, then
// {"events": […], "next": K, …} until there is no "next" any more. An answer is at most kPieceBytes and one
// record long. Any thread; copies are the same.
class TraceCommands {
 public:
  static constexpr std::size_t kPieceBytes = 256U << 10;
  static constexpr Duration kPatience = TraceRecorder::kUnread;  // with whoever reads a trace

  TraceCommands(std::string process, std::shared_ptr<TraceRecorder> recorder, Duration longest)
      : process_(std::move(process)), recorder_(std::move(recorder)), longest_(longest) {}

  // The answer; nothing: it is no such command.
  std::optional<std::string> handle(const std::string& name, const nlohmann::json& command) const;

 private:
  // The trace that is being read.
  struct Reading {
    std::mutex mutex;
    std::uint64_t number = 0;
    std::unique_ptr<PerfettoEvents> events;  // null: none is
    TimePoint asked{};                       // last
  };

  Result<nlohmann::json> start(const nlohmann::json& command) const;
  Result<nlohmann::json> read(const nlohmann::json& command) const;
  nlohmann::json piece(const PerfettoEvents& events, std::size_t from) const;

  std::string process_;
  std::shared_ptr<TraceRecorder> recorder_;
  Duration longest_;
  std::shared_ptr<Reading> reading_ = std::make_shared<Reading>();
};

}  // namespace volvox
