#include "gpu/cuda/launch.cuh"
#include "gpu/fused/fused_launcher.h"
#include "gpu/fused/lstm.cuh"
#include "gpu/fused/lstm.h"

namespace volvox::gpu {
namespace {

int launch_lstm(const FusedStep& step, const FusedTask& task, void* stream) {
  const LstmCall call = static_cast<const LstmStep&>(step).call(task);
  const dim3 grid((call.units + kLstmUnits - 1) / kLstmUnits, (task.rows + kLstmRows - 1) / kLstmRows);
  if (call.tf32 != 0) return launch(lstm::kernel<lstm::Tf32>, grid, lstm::kThreads, 0, stream, call);
  if (call.type == ElementType::kBf16)
    return launch(lstm::kernel<lstm::Bf16>, grid, lstm::kThreads, 0, stream, call);
  return launch(lstm::kernel<lstm::F16>, grid, lstm::kThreads, 0, stream, call);
}

}  // namespace

extern const FusedLauncher kLstmLauncher;
const FusedLauncher kLstmLauncher = {launch_lstm};

}  // namespace volvox::gpu
