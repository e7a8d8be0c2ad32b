#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/gpu_device.h"
#include "tests/unit/gpu/fake_driver.h"

namespace volvox::gpu {

inline GpuOptions small_device(CellOptions cells = {}) {
  GpuOptions options;
  options.input_bytes = options.result_bytes = 1 << 20;
  options.cells = cells;
  return options;
}

// A driver to test with: the first GPU, or the kernels' bodies on the host. A GPU that is not there is a
// reason to skip.
struct Backend {
  std::string name;
  std::function<Result<std::shared_ptr<Driver>>()> open;
};

inline Backend host_backend() {
  return {"OnHost", []() -> Result<std::shared_ptr<Driver>> { return std::make_shared<FakeDriver>(); }};
}
inline Backend gpu_backend() {
  return {"Gpu", []() -> Result<std::shared_ptr<Driver>> {
            auto driver = open_driver(0);
            if (!driver) return fail(driver.error().code, "no CUDA device: " + driver.error().message);
            return driver;
          }};
}
inline std::string backend_name(const ::testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

}  // namespace volvox::gpu
