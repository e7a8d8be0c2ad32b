#include "simulation/bench/bench_device.h"

#include <utility>

#include "cpu/cpu_device.h"
#include "device/timed_device.h"
#include "simulation/bench/null_driver.h"

namespace volvox::bench {
namespace {

Result<std::unique_ptr<Device>> make_gpu(const EngineOptions& options) {
  gpu::GpuOptions gpu_options;
  const auto precision = precision_from(options.precision);
  if (!precision) return tl::unexpected(precision.error());
  const auto path = kernel_path_from(options.gpu_path);
  if (!path) return tl::unexpected(path.error());
  gpu_options.cells = {.precision = *precision, .reproducible = options.reproducible, .path = *path};
  if (options.device == "null") {
    // Nothing is computed, so nothing is there to choose by.
    if (*path == gpu::KernelPath::kAuto) gpu_options.cells.path = gpu::KernelPath::kFused;
    return gpu::GpuDevice::make(std::make_shared<NullDriver>(), gpu_options);
  }
  auto driver = gpu::open_driver(0);
  if (!driver) return tl::unexpected(driver.error());
  return gpu::GpuDevice::make(std::move(*driver), gpu_options);
}

}  // namespace

Result<gpu::Precision> precision_from(const std::string& name) {
  using enum gpu::Precision;
  for (const gpu::Precision precision : {kFloat32, kTf32, kBfloat16, kFloat16}) {
    if (name == gpu::name_of(precision)) return precision;
  }
  return invalid("'" + name + "' is not a precision; use float32, tf32, bfloat16 or float16");
}

Result<gpu::KernelPath> kernel_path_from(const std::string& name) {
  if (name == "auto") return gpu::KernelPath::kAuto;
  if (name == "generic") return gpu::KernelPath::kGeneric;
  if (name == "fused") return gpu::KernelPath::kFused;
  return invalid("'" + name + "' is not a path; use auto, generic or fused");
}

Result<std::unique_ptr<Device>> make_bench_device(const EngineOptions& options) {
  if (options.device == "gpu" || options.device == "null") return make_gpu(options);
  if (options.device == "timed") {
    return std::make_unique<TimedDevice>(TimedCost{options.timed_fixed_us, options.timed_row_us});
  }
  const auto isa = cpu::isa_from(options.isa);
  if (!isa) return invalid("no instruction set is called '" + options.isa + "'");
  return cpu::CpuDevice::make({.isa = *isa, .threads = options.threads});
}

}  // namespace volvox::bench
