#include "tests/unit/device/conformance.h"

#include "tests/unit/gpu/backends.h"

// The bodies that every device must pass: on a GPU where there is one, and on the host with the kernels' own
// bodies where there is none.
namespace volvox::gpu {
namespace {

DeviceUnderTest under_test(std::string name, const Backend& backend, CellOptions cells) {
  return {std::move(name), [open = backend.open, cells]() -> Result<std::unique_ptr<Device>> {
            auto driver = open();
            if (!driver) return tl::unexpected(driver.error());
            return GpuDevice::make(std::move(*driver), small_device(cells));
          }};
}

INSTANTIATE_TEST_SUITE_P(OnHost, DeviceConformance,
                         ::testing::Values(under_test("Programs", host_backend(), {}),
                                           under_test("Plain", host_backend(), {.plain = true})),
                         device_name);
INSTANTIATE_TEST_SUITE_P(Gpu, DeviceConformance,
                         ::testing::Values(under_test("Programs", gpu_backend(), {}),
                                           under_test("Plain", gpu_backend(), {.plain = true})),
                         device_name);

}  // namespace
}  // namespace volvox::gpu
