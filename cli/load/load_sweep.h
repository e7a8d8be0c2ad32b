#pragma once

#include <functional>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "loadgen/plan/plan.h"
#include "loadgen/run/run.h"
#include "loadgen/server/server_status.h"

namespace volvox {

// `volvox load --sweep`: how much can the server take?
struct SweepArguments {
  bool sweep = false;
  std::string slo, csv_file, html_file;
};

void add_sweep_options(CLI::App& command, SweepArguments& arguments);

// Offers loads of rising rates, each by `measure`, and reports what the server took: on standard output, and
// in files. `batches` reads what it has formed, or nothing. `json_file` may be empty; `title` says what is
// measured. A stop request ends it with what is known. The exit status: 0 if some rate is good.
Result<int> sweep_load(const SweepArguments& arguments, LoadPlan plan, const std::string& title,
                       const std::string& json_file, const std::stop_token& stop,
                       const std::function<Result<LoadOutcome>(const LoadPlan&)>& measure,
                       const std::function<std::map<std::string, BatchCount>()>& batches);

}  // namespace volvox
