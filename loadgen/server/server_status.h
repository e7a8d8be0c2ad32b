#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/server/metrics_page.h"

namespace volvox {

// What a running server says of itself at /healthz, /readyz and /metrics.
struct ServerStatus {
  std::string url;
  bool healthy = false;
  std::string readiness;  // "ready", "starting", "draining"
  MetricsPage page;

  bool ready() const { return readiness == "ready"; }
};

// Tasks and rows of one cell type since the server started.
struct BatchCount {
  double tasks = 0, rows = 0;
};

// Reads the three pages of the server whose monitoring answers at `base_url` ("http://127.0.0.1:7101"), each
// in at most `at_most`. UNAVAILABLE when it does not answer. Any thread.
Result<ServerStatus> read_server_status(const std::string& base_url, Duration at_most);

// The counts by cell type, of one model (NAME: all its versions together, or NAME/VERSION), or of all when
// `model` is empty (then as "model/type").
std::map<std::string, BatchCount> batch_counts(const MetricsPage& page, const std::string& model);

// Mean rows a task between two readings; types that ran no task in between are left out.
std::map<std::string, double> mean_batch(const std::map<std::string, BatchCount>& before,
                                         const std::map<std::string, BatchCount>& after);

// A table for people, and the same for programs. `earlier` is a reading `seconds` before, for rates; null for
// none.
std::string status_text(const ServerStatus& status, const ServerStatus* earlier, double seconds);
nlohmann::json status_json(const ServerStatus& status, const ServerStatus* earlier, double seconds);

}  // namespace volvox
