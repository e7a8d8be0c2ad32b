#pragma once

#include <functional>
#include <string>
#include <utility>

#include "actors/admin/trace_commands.h"
#include "actors/node/model_host.h"
#include "monitoring/monitor.h"

namespace volvox {

// What an operator can ask of a running server, by a line of JSON (docs/operation.md): the models, the log's
// level, a trace, and how the server is. Answers are lines of JSON, too: {"ok": true, …}, or {"ok": false,
// "error": {"code": …, "message": …}}. Any bytes get an answer. Any thread; host and monitor outlive it.
class AdminCommands {
 public:
  AdminCommands(std::string server, ModelHost& host, const Monitor& monitor, TraceCommands traces)
      : server_(std::move(server)), host_(host), monitor_(monitor), traces_(std::move(traces)) {}

  // `reply` is called once: at once, or by the host's thread when a model has come or gone.
  void handle(const std::string& line, std::function<void(std::string)> reply) const;

 private:
  const std::string server_;
  ModelHost& host_;
  const Monitor& monitor_;
  const TraceCommands traces_;
};

}  // namespace volvox
