#include "gpu/fused/fused_launcher.h"
#include "gpu/fused/hopper_launch.cuh"
#include "gpu/fused/lstm.h"

namespace volvox::gpu {
namespace {

int launch_hopper_lstm(const FusedStep& step, const FusedTask& task, void* stream) {
  const LstmCall call = static_cast<const LstmStep&>(step).call(task);
  const hopper::Cut cut = hopper::cut_of(task.rows, call.units, call.width, early_width(call),
                                         call.multiprocessors, call.reproducible != 0);
  const auto to = static_cast<cudaStream_t>(stream);
  return call.type == ElementType::kBf16 ? hopper::launch<hopper::Bf16>(cut, call, to, true)
                                         : hopper::launch<hopper::F16>(cut, call, to, true);
}

}  // namespace

extern const FusedLauncher kHopperLstmLauncher;
const FusedLauncher kHopperLstmLauncher = {launch_hopper_lstm};

}  // namespace volvox::gpu
