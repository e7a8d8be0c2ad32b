#include "cli/server/make_devices.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/node/node.h"
#include "config/fields.h"
#include "cpu/cpu_device.h"
#include "device/timed_device.h"
#include "gpu/driver/choice_cache.h"
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

gpu::GpuOptions gpu_options(const DeviceSection& section) {
  gpu::GpuOptions options;
  options.input_bytes = std::uint64_t{section.input_mib} << 20;
  options.result_bytes = std::uint64_t{section.result_mib} << 20;
  options.cells.precision = static_cast<gpu::Precision>(section.precision);
  options.cells.path = static_cast<gpu::KernelPath>(section.gpu_path);
  options.cells.reproducible = section.reproducible == OnOff::kOn;
  return options;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Empty: there is none.
std::string cache_folder(const DeviceSection& section) {
  if (section.cache != "auto") return section.cache;
  if (const std::string given = variable("CACHE_DIRECTORY"); !given.empty()) return given;  // systemd's
  if (const std::string users = variable("XDG_CACHE_HOME"); !users.empty()) return users + "/volvox";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/volvox";
}

// A cache that was asked for by name must be usable; the usual one may be missing.
Result<std::shared_ptr<gpu::ChoiceCache>> open_cache(const DeviceSection& section) {
  const std::string folder = gpu::find_devices() ? cache_folder(section) : "";
  if (folder.empty()) return nullptr;
  auto cache = gpu::ChoiceCache::open(folder);
  if (cache || section.cache != "auto") return cache;
  spdlog::warn("algorithms are chosen anew at each start: {}", cache.error().message);
  return nullptr;
}

Result<std::shared_ptr<Device>> make_gpu(const DeviceSection& section, std::uint32_t number,
                                         std::shared_ptr<gpu::ChoiceCache> cache) {
  auto driver = gpu::open_driver(static_cast<int>(number), std::move(cache));
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

Result<std::shared_ptr<Device>> make_cpu_device(const DeviceSection& section) {
  cpu::CpuOptions options;
  options.isa = cpu::isa_from(choice_name(section.isa)).value_or(cpu::Isa::kAuto);
  options.threads = compute_threads(section);
  auto device = cpu::CpuDevice::make(options);
  if (!device) return tl::unexpected(device.error());
  return std::shared_ptr<Device>(std::move(*device));
}

// The watch is there to have been made before.
Result<std::vector<std::shared_ptr<Device>>> make_devices(const DeviceSection& section,
                                                          const StopWatch& /*stop*/) {
  const std::uint32_t count = std::max(1U, section.count);  // 0 asks for all GPUs; there is one CPU
  const auto cpu = [&](std::uint32_t) { return make_cpu_device(section); };
  if (section.kind == DeviceKind::kTimed) {
    return make_each(count, [&](std::uint32_t number) {
      const std::string& file = section.timed_hang_file;
      const std::string hangs_while = file.empty() ? "" : file + "." + std::to_string(number);
      return std::make_shared<TimedDevice>(TimedCost{section.timed_task_us, section.timed_row_us},
                                           hangs_while);
    });
  }
  if (section.kind == DeviceKind::kCpu) return make_each(count, cpu);
  name_gpus();
  const auto cache = open_cache(section);
  if (!cache) return tl::unexpected(cache.error());
  auto devices = make_each(section.count == 0 ? gpus_from(section.gpu) : section.count,
                           [&](std::uint32_t i) { return make_gpu(section, section.gpu + i, *cache); });
  if (devices || section.kind == DeviceKind::kGpu) return devices;
  if (gpu::find_devices()) spdlog::warn("the GPU cannot be used: {}", devices.error().message);
  spdlog::info("serving on the CPU");
  return make_each(count, cpu);
}

}  // namespace volvox
