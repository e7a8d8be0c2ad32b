#pragma once

#include "gpu/fused/hopper_lstm.cuh"

namespace volvox::gpu::hopper {

// Gives the kernel to a stream. `early`: it may begin while the kernel ahead of it in the stream still runs.
template <class T, class S>
cudaError_t launch(const LstmCall& call, cudaStream_t stream, bool early) {
  constexpr unsigned kShared = S::kSharedBytes;
  const auto function = reinterpret_cast<const void*>(kernel<T, S>);
  const cudaError_t code =
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  if (code != cudaSuccess) return code;
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {1, 1, S::kSplit};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = {call.units / kUnits, (call.task.rows + S::kRows - 1) / S::kRows, S::kSplit};
  config.blockDim = {kThreads, 1, 1};
  config.dynamicSmemBytes = kShared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = early ? 2 : 1;
  LstmCall argument = call;
  void* arguments[] = {&argument};
  return cudaLaunchKernelExC(&config, function, arguments);
}

template <class T>
cudaError_t launch(const Cut& cut, const LstmCall& call, cudaStream_t stream, bool early) {
  if (cut.rows == 128) {
    return cut.split == 1 ? launch<T, Shape<128, 1>>(call, stream, early)
                          : launch<T, Shape<128, 2>>(call, stream, early);
  }
  return cut.split == 1 ? launch<T, Shape<64, 1>>(call, stream, early)
                        : launch<T, Shape<64, 2>>(call, stream, early);
}

}  // namespace volvox::gpu::hopper
