#pragma once

#include <memory>

#include "base/error.h"
#include "device/device.h"
#include "gpu/gpu_device.h"
#include "simulation/bench/engine_options.h"

namespace volvox::bench {

// The device that the options name: "cpu", "gpu" or "timed".
Result<std::unique_ptr<Device>> make_bench_device(const EngineOptions& options);

// A GPU's precision and kernels by name; an error that lists the names.
Result<gpu::Precision> precision_from(const std::string& name);
Result<gpu::KernelPath> kernel_path_from(const std::string& name);

}  // namespace volvox::bench
