#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/admin/admin.h"

namespace volvox {

// What a subcommand that takes a capture is told.
struct CaptureArguments {
  double seconds = 0;
  std::string admin = kAutoAdmin;
  std::string output{};
};
void add_capture_options(CLI::App& command, CaptureArguments& arguments);

// Has the process behind an admin socket record all that it does for so long, waits, and reads what it has
// recorded, piece by piece: `about` is called once, with what the answer says of the whole (`requests`,
// `tasks`, `lost`, `begun_unix_ns`, `seconds`), then `events` with each piece's events, of the Trace Event
// Format (tracing/perfetto.h). Errors are the process's, or UNAVAILABLE.
Status read_capture(const std::string& admin, double seconds,
                    const std::function<void(const nlohmann::json&)>& about,
                    const std::function<void(const nlohmann::json&)>& events);

// To standard error: how much was recorded.
void say_what_was_recorded(const nlohmann::json& about);

}  // namespace volvox
