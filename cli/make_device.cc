#include "cli/make_device.h"

#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/node.h"
#include "config/fields.h"
#include "cpu/cpu_device.h"
#include "device/timed_device.h"
#include "gpu/gpu_device.h"

namespace volvox {
namespace {

Result<std::shared_ptr<Device>> make_cpu(const DeviceSection& section) {
  cpu::CpuOptions options;
  options.isa = cpu::isa_from(choice_name(section.isa)).value_or(cpu::Isa::kAuto);
  options.threads = compute_threads(section);
  auto device = cpu::CpuDevice::make(options);
  if (!device) return tl::unexpected(device.error());
  return std::shared_ptr<Device>(std::move(*device));
}

gpu::GpuOptions gpu_options(const DeviceSection& section) {
  gpu::GpuOptions options;
  options.input_bytes = std::uint64_t{section.input_mib} << 20;
  options.result_bytes = std::uint64_t{section.result_mib} << 20;
  options.cells.precision = static_cast<gpu::Precision>(section.precision);
  options.cells.path = static_cast<gpu::KernelPath>(section.gpu_path);
  options.cells.reproducible = section.reproducible == OnOff::kOn;
  return options;
}

Result<std::shared_ptr<Device>> make_gpu(const DeviceSection& section) {
  auto driver = gpu::open_driver(static_cast<int>(section.gpu));
  if (!driver) return tl::unexpected(driver.error());
  auto device = gpu::GpuDevice::make(std::move(*driver), gpu_options(section));
  if (!device) return tl::unexpected(device.error());
  spdlog::info("serving on GPU {}, products in {}", section.gpu, choice_name(section.precision));
  return std::shared_ptr<Device>(std::move(*device));
}

void name_gpus() {
  const auto found = gpu::find_devices();
  if (!found) return spdlog::info("no GPU: {}", found.error().message);
  for (const gpu::DeviceInfo& info : *found) {
    spdlog::info("GPU {}: {}, compute capability {}.{}, {} MiB", info.ordinal, info.name, info.major,
                 info.minor, info.memory_bytes >> 20);
  }
}

}  // namespace

Result<std::shared_ptr<Device>> make_device(const DeviceSection& section) {
  if (section.kind == DeviceKind::kTimed) {
    return std::make_shared<TimedDevice>(TimedCost{section.timed_task_us, section.timed_row_us});
  }
  if (section.kind == DeviceKind::kCpu) return make_cpu(section);
  name_gpus();
  auto device = make_gpu(section);
  if (device || section.kind == DeviceKind::kGpu) return device;
  if (gpu::find_devices()) spdlog::warn("the GPU cannot be used: {}", device.error().message);
  spdlog::info("serving on the CPU");
  return make_cpu(section);
}

}  // namespace volvox
