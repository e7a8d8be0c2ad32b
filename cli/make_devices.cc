#include "cli/make_devices.h"

#include <algorithm>
#include <cstdint>
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

using Devices = std::vector<std::shared_ptr<Device>>;

// The first of them that cannot be made ends it.
template <class Make>
Result<Devices> make_each(std::uint32_t count, Make make) {
  Devices devices;
  for (std::uint32_t i = 0; i < count; ++i) {
    Result<std::shared_ptr<Device>> device = make(i);
    if (!device) return tl::unexpected(device.error());
    devices.push_back(std::move(*device));
  }
  return devices;
}

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

Result<std::shared_ptr<Device>> make_gpu(const DeviceSection& section, std::uint32_t number) {
  auto driver = gpu::open_driver(static_cast<int>(number));
  if (!driver) return tl::unexpected(driver.error());
  auto device = gpu::GpuDevice::make(std::move(*driver), gpu_options(section));
  if (!device) return tl::unexpected(device.error());
  spdlog::info("serving on GPU {}, products in {}", number, choice_name(section.precision));
  return std::shared_ptr<Device>(std::move(*device));
}

// At least one, so that a GPU that is not there is said to be missing.
std::uint32_t gpus_from(std::uint32_t first) {
  const auto found = gpu::find_devices();
  const std::size_t all = found ? found->size() : 0;
  return all > first ? static_cast<std::uint32_t>(all) - first : 1;
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

Result<std::vector<std::shared_ptr<Device>>> make_devices(const DeviceSection& section) {
  const std::uint32_t count = std::max(1U, section.count);  // 0 asks for all GPUs; there is one CPU
  const auto cpu = [&](std::uint32_t) { return make_cpu(section); };
  if (section.kind == DeviceKind::kTimed) {
    return make_each(count, [&](std::uint32_t) {
      return std::make_shared<TimedDevice>(TimedCost{section.timed_task_us, section.timed_row_us});
    });
  }
  if (section.kind == DeviceKind::kCpu) return make_each(count, cpu);
  name_gpus();
  auto devices = make_each(section.count == 0 ? gpus_from(section.gpu) : section.count,
                           [&](std::uint32_t i) { return make_gpu(section, section.gpu + i); });
  if (devices || section.kind == DeviceKind::kGpu) return devices;
  if (gpu::find_devices()) spdlog::warn("the GPU cannot be used: {}", devices.error().message);
  spdlog::info("serving on the CPU");
  return make_each(count, cpu);
}

}  // namespace volvox
