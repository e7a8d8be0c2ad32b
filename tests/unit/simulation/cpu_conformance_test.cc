#include "cpu/cpu_device.h"
#include "tests/unit/device/conformance.h"

namespace volvox {
namespace {

DeviceUnderTest cpu_device(cpu::Isa isa) {
  return {std::string(cpu::to_string(isa)),
          [isa] { return cpu::CpuDevice::make({.isa = isa, .threads = 1, .measure = false}); }};
}

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance,
                         ::testing::Values(cpu_device(cpu::Isa::kAvx512), cpu_device(cpu::Isa::kAvx2),
                                           cpu_device(cpu::Isa::kPortable)),
                         device_name);

}  // namespace
}  // namespace volvox
