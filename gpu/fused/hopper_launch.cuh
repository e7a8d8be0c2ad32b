#pragma once

#include <atomic>

#include "gpu/fused/hopper_lstm.cuh"

namespace volvox::gpu::hopper {

// That a block of the kernel may have as much shared memory as it needs: once for each device.
template <class T, class S>
cudaError_t allow_shared(const void* function) {
  static std::atomic<std::uint64_t> allowed{0};
  int device = 0;
  cudaError_t code = cudaGetDevice(&device);
  const std::uint64_t bit = std::uint64_t{1} << device % 64;
  if (code != cudaSuccess || (allowed.load() & bit) != 0) return code;
  code = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes);
  if (code == cudaSuccess) allowed.fetch_or(bit);
  return code;
}

// Gives the kernel to a stream. `early`: it may begin while the kernel ahead of it in the stream still runs.
template <class T, class S>
cudaError_t launch(const LstmCall& call, cudaStream_t stream, bool early) {
  constexpr unsigned kShared = S::kSharedBytes;
  const auto function = reinterpret_cast<const void*>(kernel<T, S>);
  if (const cudaError_t code = allow_shared<T, S>(function); code != cudaSuccess) return code;
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {1, S::kMates, S::kSplit};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  constexpr unsigned kMatesRows = S::kRows * S::kMates;
  const unsigned tiles = (call.task.rows + kMatesRows - 1) / kMatesRows * S::kMates;  // some may have no row
  config.gridDim = {call.units / kUnits, tiles, S::kSplit};
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
  if (cut.rows == 128) return launch<T, Shape<128, 1>>(call, stream, early);
  if (cut.split == 2) return launch<T, Shape<64, 2>>(call, stream, early);
  return cut.mates == 2 ? launch<T, Shape<64, 1, 2>>(call, stream, early)
                        : launch<T, Shape<64, 1>>(call, stream, early);
}

}  // namespace volvox::gpu::hopper
