#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cpu/cpu_device.h"
#include "simulation/bench/commands.h"
#include "simulation/bench/lstm_step.h"
#include "simulation/bench/onednn_step.h"
#include "simulation/bench/statistics.h"

namespace volvox::bench {
namespace {

struct KernelOptions {
  std::vector<std::uint32_t> hidden{64, 256, 1024}, batches{1, 8, 64, 256}, threads{1};
  std::vector<std::string> isas{"auto"};
  double seconds = 0.1;
  std::uint32_t repeat = 5;
  std::string json;
};

struct KernelRow {
  LstmShape shape;
  std::uint32_t threads = 1;
  cpu::Isa isa{};
  Repeated step_us, task_us, onednn_us;
};

std::vector<KernelRow> rows_of(const KernelOptions& options) {
  std::vector<KernelRow> rows;
  for (std::uint32_t hidden : options.hidden) {
    for (std::uint32_t batch : options.batches) {
      for (std::uint32_t threads : options.threads) {
        for (const std::string& name : options.isas) {
          const cpu::Isa isa = cpu::isa_from(name).value_or(cpu::Isa::kAuto);
          KernelRow row;
          row.shape = {hidden, hidden, batch};
          row.threads = threads;
          row.isa = isa == cpu::Isa::kAuto ? cpu::best_isa() : isa;
          rows.push_back(row);
        }
      }
    }
  }
  return rows;
}

// Mean microseconds of a step.
double onednn_us(OneDnnStep& step, double seconds) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 3; ++i) step.run();
  const auto start = Clock::now();
  std::chrono::duration<double> passed{0};
  double steps = 0;
  for (; passed.count() < seconds; ++steps) {
    step.run();
    passed = Clock::now() - start;
  }
  return passed.count() * 1e6 / steps;
}

Status measure(KernelRow& row, double seconds) {
  // Made anew each time: where memory lies is part of what varies.
  auto device = cpu::CpuDevice::make({.isa = row.isa, .threads = row.threads, .measure = false});
  if (!device) return tl::unexpected(device.error());
  auto steps = LstmSteps::make(row.shape, std::move(*device), row.threads);
  if (!steps) return tl::unexpected(steps.error());
  const auto time = (*steps)->measure(seconds);
  if (!time) return tl::unexpected(time.error());
  row.step_us.add(time->kernel_us);
  row.task_us.add(time->task_us);
  steps->reset();
  if (auto yardstick = OneDnnStep::make(row.shape.input, row.shape.hidden, row.shape.batch, row.threads)) {
    row.onednn_us.add(onednn_us(*yardstick, seconds));
  }
  return {};
}

nlohmann::json report(const std::vector<KernelRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelRow& row : rows) {
    nlohmann::json one = {{"hidden", row.shape.hidden},
                          {"batch", row.shape.batch},
                          {"threads", row.threads},
                          {"isa", cpu::to_string(row.isa)},
                          {"step_us", row.step_us.median()},
                          {"gflops", row.shape.flops() / row.step_us.median() * 1e-3},
                          {"task_us", row.task_us.median()},
                          {"onednn_us", nullptr},
                          {"spread", {{"step_us", row.step_us.json()}, {"onednn_us", row.onednn_us.json()}}}};
    if (!row.onednn_us.empty()) one["onednn_us"] = row.onednn_us.median();
    list.push_back(std::move(one));
  }
  return {{"lstm", std::move(list)}};
}

std::string table(const std::vector<KernelRow>& rows) {
  Table table(
      {"hidden", "batch", "threads", "isa", "step us", "GFLOP/s", "task us", "oneDNN us", "oneDNN/ours"});
  for (const KernelRow& row : rows) {
    const double us = row.step_us.median();
    const std::string ratio = row.onednn_us.empty() ? "-" : fixed(row.onednn_us.median() / us, 2);
    table.add({std::to_string(row.shape.hidden), std::to_string(row.shape.batch), std::to_string(row.threads),
               std::string(cpu::to_string(row.isa)), row.step_us.text(1),
               fixed(row.shape.flops() / us * 1e-3, 1), row.task_us.text(1), row.onednn_us.text(1), ratio});
  }
  return table.text();
}

int run(const KernelOptions& options) {
  std::vector<KernelRow> rows = rows_of(options);
  for (std::uint32_t k = 0; k < options.repeat; ++k) {
    for (KernelRow& row : rows) {
      std::fprintf(stderr, "repetition %u of %u: hidden %u, batch %u, threads %u\n", k + 1, options.repeat,
                   row.shape.hidden, row.shape.batch, row.threads);
      if (Status ok = measure(row, options.seconds); !ok) {
        std::fprintf(stderr, "%s\n", to_string(ok.error()).c_str());
        return 1;
      }
    }
  }
  std::fputs(table(rows).c_str(), stdout);
  return options.json.empty() || write_json(options.json, report(rows)) ? 0 : 1;
}

}  // namespace

void add_kernel_command(CLI::App& app, int& status) {
  auto options = std::make_shared<KernelOptions>();
  CLI::App* command = app.add_subcommand("kernel", "Steps of an LSTM cell on the CPU, beside oneDNN's.");
  command->add_option("--hidden", options->hidden, "hidden sizes; the input has the same")
      ->check(CLI::Range(1, 16384));
  command->add_option("--batch", options->batches, "batch sizes")->check(CLI::Range(1, 65536));
  command->add_option("--threads", options->threads, "numbers of compute threads")->check(CLI::Range(1, 256));
  command->add_option("--isa", options->isas, "instruction sets")
      ->check(CLI::IsMember({"auto", "avx512", "avx2", "portable"}));
  command->add_option("--seconds", options->seconds, "of each measurement")->check(CLI::Range(0.001, 60.0));
  command->add_option("--repeat", options->repeat, "interleaved repetitions")->check(CLI::Range(1, 1000));
  command->add_option("--json", options->json, "write the report to this file");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace volvox::bench
