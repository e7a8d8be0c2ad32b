#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "batching/policy/policies.h"
#include "simulation/batch_counts.h"
#include "simulation/bench/commands.h"
#include "simulation/bench/engine_setup.h"
#include "simulation/bench/statistics.h"
#include "simulation/engine.h"

namespace volvox::bench {
namespace {

struct BatchesOptions {
  EngineOptions engine;
  std::uint32_t requests = 64;
};

constexpr Duration kLimit = std::chrono::minutes(5);

// All requests at once, in batches of any size, by the scheduler that serves: how many tasks it forms.
Result<std::uint64_t> cellular_batches(EngineSetup& setup, std::uint32_t requests) {
  SchedulerConfig config = scheduler_config(setup.installation(), 1);
  auto engine = Engine::make(setup.device(), config, make_cellular_policy(config), queue_config(config, 1));
  if (!engine) return tl::unexpected(engine.error());
  std::vector<ResultBlock> results;
  for (std::uint32_t i = 0; i < requests; ++i) {
    auto block = setup.results();
    if (!block) return tl::unexpected(block.error());
    auto request = setup.request(i, block->address);
    if (!request) return tl::unexpected(request.error());
    results.push_back(std::move(*block));
    const AdmitResult admitted = (*engine)->admit(std::move(*request));
    if (admitted.kind == AdmitResult::Kind::kNeverFits) return invalid(admitted.reason);
    if (admitted.kind != AdmitResult::Kind::kAdmitted)
      return invalid("so many requests do not fit at once; ask for fewer, or for a model of a smaller width");
  }
  std::vector<Event> events;
  if (Status done = (*engine)->drain(kLimit, events); !done) return tl::unexpected(done.error());
  std::uint64_t tasks = 0;
  for (const TypeTotals& type : (*engine)->totals()) tasks += type.tasks;
  return tasks;
}

Result<nlohmann::json> count(const BatchesOptions& options) {
  const EnginePlan plan{.configurations = {{"cellular", options.requests * 64, 0}}, .loads = {}};
  auto setup = EngineSetup::make(options.engine, plan);
  if (!setup) return tl::unexpected(setup.error());
  CellDag dag;
  for (std::uint32_t i = 0; i < options.requests; ++i) dag.add((*setup)->reference_order(i));
  const auto cellular = cellular_batches(**setup, options.requests);
  if (!cellular) return tl::unexpected(cellular.error());
  return nlohmann::json{{"model", (*setup)->model().model->name},
                        {"requests", options.requests},
                        {"cells", dag.size()},
                        {"cellular", *cellular},
                        {"depth", depth_batches(dag)},
                        {"agenda", agenda_batches(dag)},
                        {"lower_bound", fewest_batches(dag)}};
}

int run(const BatchesOptions& options) {
  const auto counts = count(options);
  if (!counts) {
    std::fprintf(stderr, "%s\n", to_string(counts.error()).c_str());
    return 1;
  }
  Table table({"model", "requests", "cells", "cellular", "depth", "agenda", "lower bound"});
  const auto number = [&](const char* key) { return std::to_string(counts->at(key).get<std::uint64_t>()); };
  table.add({counts->at("model").get<std::string>(), number("requests"), number("cells"), number("cellular"),
             number("depth"), number("agenda"), number("lower_bound")});
  std::fputs(table.text().c_str(), stdout);
  return options.engine.json.empty() || write_json(options.engine.json, *counts) ? 0 : 1;
}

}  // namespace

void add_batches_command(CLI::App& app, int& status) {
  auto options = std::make_shared<BatchesOptions>();
  options->engine.device = "timed";
  options->engine.timed_fixed_us = options->engine.timed_row_us = 0;
  CLI::App* command = app.add_subcommand(
      "batches",
      "Counts the batches, of any size, in which requests run that come all at once: cell by cell as they "
      "are "
      "served, by depth (TensorFlow Fold), by DyNet's agenda, and how many nothing can do without");
  command->add_option("--model", options->engine.model, "folder of a model; its width does not matter")
      ->required();
  command->add_option("--lengths", options->engine.lengths, "file of request lengths (default: made up)");
  command->add_option("--trees", options->engine.trees, "file of trees in brackets, one a line");
  command->add_option("--lattices", options->engine.lattices, "file of lattices in JSON, one a line");
  command->add_option("--requests", options->requests, "how many come at once")->check(CLI::Range(1, 4096));
  command->add_option("--seed", options->engine.seed, "of the choice of requests");
  command->add_option("--json", options->engine.json, "where to write them, too");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace volvox::bench
