#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gpu/completion_time.h"
#include "gpu/product_time.h"
#include "simulation/bench/bench_device.h"
#include "simulation/bench/commands.h"
#include "simulation/bench/lstm_step.h"
#include "simulation/bench/statistics.h"

namespace volvox::bench {
namespace {

struct Options {
  std::vector<std::uint32_t> hidden{1024}, batches{64, 256, 512};
  std::vector<std::string> precisions{"bfloat16"}, paths{"generic", "fused"};
  double seconds = 0.5, completion_us = 20;
  std::string json;
};

// One step of an LSTM on the GPU, and its product alone.
struct Row {
  LstmShape shape;
  std::string precision, path;
  double step_us = 0, task_us = 0, gemm_us = 0;
};

Result<double> gemm_us(const Row& row) {
  const auto driver = gpu::open_driver(0);
  if (!driver) return tl::unexpected(driver.error());
  const auto precision = precision_from(row.precision);
  if (!precision) return tl::unexpected(precision.error());
  const std::uint32_t width = row.shape.input + row.shape.hidden, outputs = 4 * row.shape.hidden;
  return gpu::product_us(**driver, {row.shape.batch, outputs, width, width, outputs, *precision});
}

Status measure(Row& row, double seconds) {
  EngineOptions options;
  options.device = "gpu";
  options.precision = row.precision;
  options.gpu_path = row.path;
  auto device = make_bench_device(options);
  if (!device) return tl::unexpected(device.error());
  auto steps = LstmSteps::make(row.shape, std::move(*device));
  if (!steps) return tl::unexpected(steps.error());
  const auto time = (*steps)->measure(seconds);
  if (!time) return tl::unexpected(time.error());
  row.step_us = time->kernel_us;
  row.task_us = time->task_us;
  const auto gemm = gemm_us(row);
  if (!gemm) return tl::unexpected(gemm.error());
  row.gemm_us = *gemm;
  return {};
}

std::vector<Row> rows_of(const Options& options) {
  std::vector<Row> rows;
  for (std::uint32_t hidden : options.hidden) {
    for (const std::string& precision : options.precisions) {
      for (const std::string& path : options.paths) {
        for (std::uint32_t batch : options.batches) {
          if (path == "fused" && precision == "float32") continue;  // there is no such kernel
          rows.push_back({{hidden, hidden, batch}, precision, path});
        }
      }
    }
  }
  return rows;
}

nlohmann::json report(const std::vector<Row>& rows, const std::vector<gpu::CompletionTime>& completion) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows) {
    list.push_back({{"hidden", row.shape.hidden},
                    {"batch", row.shape.batch},
                    {"precision", row.precision},
                    {"path", row.path},
                    {"step_us", row.step_us},
                    {"task_us", row.task_us},
                    {"gemm_us", row.gemm_us}});
  }
  nlohmann::json ways = nlohmann::json::array();
  for (const gpu::CompletionTime& time : completion) {
    ways.push_back(
        {{"way", time.way}, {"round_trip_us", time.round_trip_us}, {"per_task_us", time.per_task_us}});
  }
  return {{"lstm", std::move(list)}, {"completion", std::move(ways)}};
}

std::string table(const std::vector<Row>& rows) {
  Table table({"hidden", "batch", "precision", "path", "step us", "task us", "product us", "step / product"});
  for (const Row& row : rows) {
    table.add({std::to_string(row.shape.hidden), std::to_string(row.shape.batch), row.precision, row.path,
               fixed(row.step_us, 1), fixed(row.task_us, 1), fixed(row.gemm_us, 1),
               fixed(row.step_us / row.gemm_us, 2)});
  }
  return table.text();
}

std::string table(const std::vector<gpu::CompletionTime>& completion) {
  Table table({"told by", "round trip us", "us a task in line"});
  for (const gpu::CompletionTime& time : completion)
    table.add({std::string(time.way), fixed(time.round_trip_us, 1), fixed(time.per_task_us, 1)});
  return table.text();
}

int run(const Options& options) {
  std::vector<Row> rows = rows_of(options);
  for (Row& row : rows) {
    if (Status ok = measure(row, options.seconds); !ok) {
      std::fprintf(stderr, "%s\n", to_string(ok.error()).c_str());
      return 1;
    }
  }
  const auto span = Duration(static_cast<Duration::rep>(options.completion_us * 1000));
  const auto completion = gpu::completion_times(0, span);
  if (!completion) {
    std::fprintf(stderr, "%s\n", to_string(completion.error()).c_str());
    return 1;
  }
  std::fputs((table(rows) + "\n" + table(*completion)).c_str(), stdout);
  return options.json.empty() || write_json(options.json, report(rows, *completion)) ? 0 : 1;
}

}  // namespace

void add_gpu_command(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "gpu",
      "Steps of an LSTM on the GPU beside their products alone, and ways to learn that a task is done.");
  command->add_option("--hidden", o->hidden, "sizes of h and of the input")->check(CLI::Range(1, 16384));
  command->add_option("--batch", o->batches, "rows")->check(CLI::Range(1, 65536));
  command->add_option("--precision", o->precisions, "of products")
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}));
  command->add_option("--path", o->paths, "kernels")->check(CLI::IsMember({"auto", "generic", "fused"}));
  command->add_option("--seconds", o->seconds, "of each measurement")->check(CLI::Range(0.01, 60.0));
  command->add_option("--completion-us", o->completion_us, "length of the tasks whose end is told")
      ->check(CLI::Range(1.0, 10'000.0));
  command->add_option("--json", o->json, "write the report to this file");
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace volvox::bench
