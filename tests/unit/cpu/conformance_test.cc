#include "tests/unit/device/conformance.h"

#include "cpu/cpu_device.h"

namespace volvox {
namespace {

DeviceUnderTest cpu_device(std::string name, cpu::CpuOptions options) {
  return {std::move(name), [options] { return cpu::CpuDevice::make(options); }};
}

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance,
                         ::testing::Values(cpu_device("OneThread", {}),
                                           cpu_device("TwoThreads", {.threads = 2, .measure = false}),
                                           cpu_device("Portable", {.isa = cpu::Isa::kPortable})),
                         device_name);

}  // namespace
}  // namespace volvox
