#include "gpu/completion_time.h"
#include "gpu/driver/driver.h"

// Stands in for gpu/cuda/ in a build without CUDA.
namespace volvox::gpu {
namespace {

tl::unexpected<Error> none() {
  return fail(ErrorCode::kUnavailable,
              "this build has no CUDA; build it where CUDA 13 is installed, or serve with --device cpu");
}

}  // namespace

Result<std::vector<DeviceInfo>> find_devices() {
  return none();
}

Result<std::shared_ptr<Driver>> open_driver(int, std::shared_ptr<ChoiceCache>) {
  return none();
}

Result<std::vector<CompletionTime>> completion_times(int, Duration) {
  return none();
}

}  // namespace volvox::gpu
