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

struct GpuStepOptions {
  std::vector<std::uint32_t> hidden{1024}, batches{64, 256, 512};
  std::vector<std::string> precisions{"bfloat16"}, paths{"generic", "fused"};
  double seconds = 0.5, completion_us = 20;
  std::string json;
};

// One step of an LSTM on the GPU, and its product alone.
struct GpuRow {
  LstmShape shape;
  std::string precision, path;
  double step_us = 0, task_us = 0, gemm_us = 0;
};

Result<double> product_us(std::uint32_t rows, std::uint32_t outputs, std::uint32_t width,
                          const std::string& name) {
  const auto driver = gpu::open_driver(0);
  if (!driver) return tl::unexpected(driver.error());
  const auto precision = precision_from(name);
  if (!precision) return tl::unexpected(precision.error());
  return gpu::product_us(**driver, {rows, outputs, width, width, outputs, *precision});
}

Status measure(GpuRow& row, double seconds) {
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
  const auto gemm =
      product_us(row.shape.batch, 4 * row.shape.hidden, row.shape.input + row.shape.hidden, row.precision);
  if (!gemm) return tl::unexpected(gemm.error());
  row.gemm_us = *gemm;
  return {};
}

std::vector<GpuRow> rows_of(const GpuStepOptions& options) {
  std::vector<GpuRow> rows;
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

nlohmann::json report(const std::vector<GpuRow>& rows, const std::vector<gpu::CompletionTime>& completion) {
  nlohmann::json list = nlohmann::json::array();
  for (const GpuRow& row : rows) {
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

std::string line(const GpuRow& row) {
  return "hidden " + std::to_string(row.shape.hidden) + ", batch " + std::to_string(row.shape.batch) + ", " +
         row.precision + ", " + row.path + ": step " + fixed(row.step_us, 1) + " us, task " +
         fixed(row.task_us, 1) + " us, product " + fixed(row.gemm_us, 1) + " us, step / product " +
         fixed(row.step_us / row.gemm_us, 2) + "\n";
}

std::string table(const std::vector<gpu::CompletionTime>& completion) {
  Table table({"told by", "round trip us", "us a task in line"});
  for (const gpu::CompletionTime& time : completion)
    table.add({std::string(time.way), fixed(time.round_trip_us, 1), fixed(time.per_task_us, 1)});
  return table.text();
}

// A row at a time, each written as soon as it is there: whatever fails later takes none of it along.
int run(const GpuStepOptions& options) {
  std::vector<GpuRow> measured;
  std::vector<gpu::CompletionTime> completion;
  bool good = true;
  const auto keep = [&] {
    if (!options.json.empty()) good = write_json(options.json, report(measured, completion)) && good;
  };
  for (GpuRow& row : rows_of(options)) {
    if (Status ok = measure(row, options.seconds); !ok) {
      std::fprintf(stderr, "%s, batch %u, %s: %s\n", row.precision.c_str(), row.shape.batch, row.path.c_str(),
                   to_string(ok.error()).c_str());
      good = false;
      continue;
    }
    measured.push_back(std::move(row));
    std::fputs(line(measured.back()).c_str(), stdout);
    std::fflush(stdout);
    keep();
  }
  const auto span = Duration(static_cast<Duration::rep>(options.completion_us * 1000));
  if (auto times = options.completion_us > 0
                       ? gpu::completion_times(0, span)
                       : Result<std::vector<gpu::CompletionTime>>(std::vector<gpu::CompletionTime>{})) {
    completion = std::move(*times);
    std::fputs(table(completion).c_str(), stdout);
    keep();
  } else {
    std::fprintf(stderr, "%s\n", to_string(times.error()).c_str());
    good = false;
  }
  return good ? 0 : 1;
}

struct ProductOptions {
  std::vector<std::uint32_t> batches{64, 256, 512}, widths{1024, 2048}, outputs{4096};
  std::vector<std::string> precisions{"bfloat16"};
  std::string json;
};

// Products alone, each written as soon as it is measured.
int run(const ProductOptions& options) {
  nlohmann::json found = nlohmann::json::array();
  bool good = true;
  const auto measure_one = [&](std::uint32_t rows, std::uint32_t outputs, std::uint32_t width,
                               const std::string& precision) {
    const auto us = product_us(rows, outputs, width, precision);
    if (!us) {
      std::fprintf(stderr, "%u rows, %u to %u, %s: %s\n", rows, width, outputs, precision.c_str(),
                   to_string(us.error()).c_str());
      good = false;
      return;
    }
    std::printf("%u rows, %u to %u, %s: %s us\n", rows, width, outputs, precision.c_str(),
                fixed(*us, 2).c_str());
    std::fflush(stdout);
    found.push_back(
        {{"batch", rows}, {"outputs", outputs}, {"width", width}, {"precision", precision}, {"us", *us}});
    if (!options.json.empty()) good = write_json(options.json, {{"products", found}}) && good;
  };
  for (const std::string& precision : options.precisions) {
    for (std::uint32_t outputs : options.outputs) {
      for (std::uint32_t width : options.widths) {
        for (std::uint32_t rows : options.batches) measure_one(rows, outputs, width, precision);
      }
    }
  }
  return good ? 0 : 1;
}

}  // namespace

void add_gpu_product_command(CLI::App& app, int& status) {
  auto o = std::make_shared<ProductOptions>();
  CLI::App* command = app.add_subcommand(
      "gpu-product", "Products alone on the GPU: the best of what cuBLASLt proposes, on random numbers.");
  command->add_option("--batch", o->batches, "rows")->check(CLI::Range(1, 65536));
  command->add_option("--width", o->widths, "elements of a row")->check(CLI::Range(1, 65536));
  command->add_option("--outputs", o->outputs, "columns")->check(CLI::Range(1, 65536));
  command->add_option("--precision", o->precisions, "of the operands")
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}));
  command->add_option("--json", o->json, "write the report to this file");
  command->callback([o, &status] { status = run(*o); });
}

void add_gpu_command(CLI::App& app, int& status) {
  auto o = std::make_shared<GpuStepOptions>();
  CLI::App* command = app.add_subcommand(
      "gpu",
      "Steps of an LSTM on the GPU beside their products alone, and ways to learn that a task is done.");
  command->add_option("--hidden", o->hidden, "sizes of h and of the input")->check(CLI::Range(1, 16384));
  command->add_option("--batch", o->batches, "rows")->check(CLI::Range(1, 65536));
  command->add_option("--precision", o->precisions, "of products")
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}));
  command->add_option("--path", o->paths, "kernels")->check(CLI::IsMember({"auto", "generic", "fused"}));
  command->add_option("--seconds", o->seconds, "of each measurement")->check(CLI::Range(0.01, 60.0));
  command
      ->add_option("--completion-us", o->completion_us,
                   "length of the tasks whose end is told; 0: leaves that out")
      ->check(CLI::Range(0.0, 10'000.0));
  command->add_option("--json", o->json, "write the report to this file");
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace volvox::bench
