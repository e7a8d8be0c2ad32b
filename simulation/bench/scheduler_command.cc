#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "shapes/lattices.h"
#include "shapes/lengths.h"
#include "shapes/trees.h"
#include "simulation/bench/commands.h"
#include "simulation/bench/scheduling_case.h"
#include "simulation/bench/scheduling_run.h"
#include "simulation/bench/statistics.h"

namespace volvox::bench {
namespace {

struct SchedulerOptions {
  std::string lengths, trees, lattices, json;
  std::vector<std::string> cases;
  SchedulingSizes sizes;
  SchedulingLoad load;
  std::uint32_t repeat = 5;
};

struct Measured {
  std::unique_ptr<SchedulingCase> what;
  Repeated ns_per_cell, ns_per_request, allocations_per_task, mean_batch;
  SchedulingResult last;
};

constexpr std::size_t kMade = 2000;  // requests made up where no file was given

// kMade of what a source draws.
template <class Source, class Draw>
auto drawn(const Source& source, std::uint64_t seed, Draw draw) {
  SeededRandom random(seed);
  std::vector<decltype(draw(source, random))> made;
  for (std::size_t i = 0; i < kMade; ++i) made.push_back(draw(source, random));
  return made;
}

// Each from 1 to `most` as often.
LengthSource up_to(std::uint32_t most) {
  std::vector<std::uint32_t> lengths(most);
  std::iota(lengths.begin(), lengths.end(), 1U);
  return *LengthSource::from_table(std::move(lengths), "up to " + std::to_string(most));
}

Result<std::vector<std::uint32_t>> lengths_of(const SchedulerOptions& options) {
  if (!options.lengths.empty())
    return LengthSource::from_file(options.lengths, LengthColumn::kSource).map(&LengthSource::table);
  return drawn(LengthSource::built_in(), options.load.seed,
               [](const LengthSource& source, SeededRandom& random) { return source.draw(random); });
}

Result<std::vector<std::vector<std::int32_t>>> trees_of(const SchedulerOptions& options) {
  if (!options.trees.empty()) return TreeSource::from_file(options.trees).map(&TreeSource::trees);
  return drawn(TreeSource::random(up_to(38)), options.load.seed,
               [](const TreeSource& source, SeededRandom& random) {
                 std::vector<std::int32_t> parents;
                 source.draw(random, parents);
                 return parents;
               });
}

Result<std::vector<LatticeShape>> lattices_of(const SchedulerOptions& options) {
  if (!options.lattices.empty())
    return LatticeSource::from_file(options.lattices).map(&LatticeSource::lattices);
  return drawn(LatticeSource::random(up_to(88)), options.load.seed,
               [](const LatticeSource& source, SeededRandom& random) { return source.draw(random); });
}

template <class T>
Status checked(const Result<T>& result) {
  if (!result) return tl::unexpected(result.error());
  return {};
}

Status make_case(const std::string& name, const SchedulerOptions& options, SchedulingCase& out) {
  const std::size_t at = name.find('_');
  const auto batch = static_cast<std::uint32_t>(std::stoul(name.substr(at + 1)));
  const std::string kind = name.substr(0, at);
  if (kind == "chain") {
    const auto lengths = lengths_of(options);
    if (lengths) make_chains(out, batch, *lengths, options.sizes);
    return checked(lengths);
  }
  if (kind == "tree") {
    const auto trees = trees_of(options);
    return trees ? make_trees(out, batch, *trees, options.sizes) : checked(trees);
  }
  const auto lattices = lattices_of(options);
  return lattices ? make_lattices(out, batch, *lattices, options.sizes) : checked(lattices);
}

Result<std::vector<Measured>> make_cases(const SchedulerOptions& options) {
  std::vector<Measured> all;
  for (const std::string& name : options.cases) {
    Measured measured;
    measured.what = std::make_unique<SchedulingCase>();
    if (Status ok = make_case(name, options, *measured.what); !ok) return tl::unexpected(ok.error());
    all.push_back(std::move(measured));
  }
  return all;
}

void measure(std::vector<Measured>& cases, const SchedulerOptions& options) {
  for (std::uint32_t k = 0; k < options.repeat; ++k) {
    for (Measured& one : cases) {
      std::fprintf(stderr, "repetition %u of %u: %s\n", k + 1, options.repeat, one.what->name.c_str());
      SchedulingLoad load = options.load;
      load.seed += k;
      one.last = SchedulingRun(*one.what, load).run();
      one.ns_per_cell.add(one.last.ns_per_cell);
      one.ns_per_request.add(one.last.ns_per_request);
      one.allocations_per_task.add(one.last.allocations_per_task);
      one.mean_batch.add(one.last.mean_batch);
    }
  }
}

nlohmann::json report(const std::vector<Measured>& cases, const SchedulerOptions& options) {
  nlohmann::json json = {{"ns_per_cell", nlohmann::json::object()}};
  double request = 0, allocations = 0;
  for (const Measured& one : cases) {
    const std::string& name = one.what->name;
    json["ns_per_cell"][name] = one.ns_per_cell.median();
    request = std::max(request, one.ns_per_request.median());
    allocations = std::max(allocations, one.allocations_per_task.median());
    json["cases"][name] = {{"ns_per_cell", one.ns_per_cell.json()},
                           {"ns_per_request", one.ns_per_request.json()},
                           {"allocations_per_task", one.allocations_per_task.json()},
                           {"mean_batch", one.mean_batch.json()},
                           {"mean_live", one.last.mean_live},
                           {"cells", one.last.cells},
                           {"tasks", one.last.tasks},
                           {"requests", one.last.requests},
                           {"cancelled", one.last.cancelled},
                           {"waiting", one.last.waiting}};
  }
  json["ns_per_request"] = request;
  json["allocations_per_task"] = allocations;
  json["live"] = options.load.live;
  json["workers"] = options.sizes.workers;
  json["models"] = options.sizes.models;
  return json;
}

std::string table(const std::vector<Measured>& cases) {
  Table table({"case", "ns/cell", "ns/request", "allocations/task", "mean batch", "mean live", "cancelled"});
  for (const Measured& one : cases) {
    table.add({one.what->name, one.ns_per_cell.text(1), one.ns_per_request.text(0),
               one.allocations_per_task.text(4), one.mean_batch.text(1), fixed(one.last.mean_live, 0),
               std::to_string(one.last.cancelled) + " of " + std::to_string(one.last.requests)});
  }
  return table.text();
}

int run(const SchedulerOptions& options) {
  auto cases = make_cases(options);
  if (!cases) {
    std::fprintf(stderr, "%s\n", to_string(cases.error()).c_str());
    return 1;
  }
  measure(*cases, options);
  std::fputs(table(*cases).c_str(), stdout);
  if (options.json.empty()) return 0;
  return write_json(options.json, report(*cases, options)) ? 0 : 1;
}

}  // namespace

void add_scheduler_command(CLI::App& app, int& status) {
  auto options = std::make_shared<SchedulerOptions>();
  options->cases = {"chain_64", "chain_512", "tree_64", "lattice_64"};
  CLI::App* command = app.add_subcommand(
      "scheduler",
      "What scheduling costs: thousands of live requests, Poisson arrivals, cancellations, no device.");
  command->add_option("--lengths", options->lengths, "file of chain lengths (default: made up, mean 24)");
  command->add_option("--trees", options->trees, "file of binary trees in brackets (default: made up)");
  command->add_option("--lattices", options->lattices, "file of lattices, JSON lines (default: made up)");
  command
      ->add_option("--case", options->cases, "what to measure: chain_N, tree_N, lattice_N at maximum batch N")
      ->check([](const std::string& name) {
        const std::size_t at = name.find('_');
        const std::string kind = name.substr(0, at);
        const std::string batch = at == std::string::npos ? "" : name.substr(at + 1);
        const bool number =
            !batch.empty() && batch.size() < 6 && batch.find_first_not_of("0123456789") == std::string::npos;
        const bool known = kind == "chain" || kind == "tree" || kind == "lattice";
        return known && number && std::stoul(batch) > 0 ? std::string() : name + " is not such a case";
      });
  command->add_option("--live", options->load.live, "requests live at once")->check(CLI::Range(1, 60000));
  command->add_option("--workers", options->sizes.workers, "workers of the device")->check(CLI::Range(1, 64));
  command->add_option("--models", options->sizes.models, "models loaded, of which one is asked for")
      ->check(CLI::Range(1, 1024));
  command->add_option("--cancelled", options->load.cancelled, "share of requests that are cancelled")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--withheld", options->load.withheld, "newest tasks of a worker not reported done yet")
      ->check(CLI::Range(0, 4));
  command->add_option("--cells", options->load.cells, "cells in each measurement");
  command->add_option("--warm-up-cells", options->load.warm_up_cells, "cells before each measurement");
  command->add_option("--repeat", options->repeat, "interleaved repetitions")->check(CLI::Range(1, 1000));
  command->add_option("--seed", options->load.seed, "seed of all chance");
  command->add_option("--json", options->json, "write the report to this file");
  command->callback([options, &status] {
    options->sizes.live = options->load.live;
    status = run(*options);
  });
}

}  // namespace volvox::bench
