#pragma once

// Just enough of CUDA's language, in the host's, to run the blocks of a kernel one after the other with a
// thread of the host for each of a block's (those of a cluster at once: hopper_on_host.h): barriers are
// barriers, and each lane of a warp does the whole warp's matrix product, so that only where tiles lie
// matters.

#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "gpu/kernels/half.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's.
#define __device__
#define __global__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  std::uint32_t x, y, z, w;
};
struct __nv_bfloat16 {
  std::uint16_t bits;
};
struct __half {
  std::uint16_t bits;
};

inline thread_local dim3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
inline thread_local std::barrier<>* block_barrier = nullptr;

inline void __syncthreads() {
  block_barrier->arrive_and_wait();
}
inline void __threadfence() {}
inline unsigned atomicAdd(std::uint32_t* place, unsigned value) {
  return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {volvox::gpu::to_bfloat16(x)};
}
inline __half __float2half_rn(float x) {
  return {volvox::gpu::to_float16(x)};
}
inline float number_of(__nv_bfloat16 x) {
  return volvox::gpu::from_bfloat16(x.bits);
}
inline float number_of(__half x) {
  return volvox::gpu::from_float16(x.bits);
}
inline float number_of(float x) {
  return x;
}

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
enum layout_t { mem_row_major };
namespace precision {
struct tf32 {};
}  // namespace precision

inline float __float_to_tf32(float x) {
  return volvox::gpu::to_tf32(x);
}

template <class Use>
constexpr int rows_of(int m, int k) {
  return std::is_same_v<Use, matrix_b> ? k : m;
}
template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static constexpr int kRows = rows_of<Use>(M, K), kColumns = std::is_same_v<Use, matrix_a> ? K : N;
  static constexpr int num_elements = kRows * kColumns;
  float x[num_elements];
};

template <class F>
void fill_fragment(F& f, float value) {
  for (float& x : f.x) x = value;
}
template <class F, class T>
void load_matrix_sync(F& f, const T* from, unsigned stride) {
  for (int r = 0; r < F::kRows; ++r) {
    for (int c = 0; c < F::kColumns; ++c) f.x[r * F::kColumns + c] = number_of(from[r * stride + c]);
  }
}
template <class F>
void store_matrix_sync(float* to, const F& f, unsigned stride, layout_t) {
  if (threadIdx.x % 32 != 0) return;  // one lane for all
  for (int r = 0; r < F::kRows; ++r) {
    for (int c = 0; c < F::kColumns; ++c) to[r * stride + c] = f.x[r * F::kColumns + c];
  }
}
template <class D, class A, class B>
void mma_sync(D& d, const A& a, const B& b, const D& c) {
  for (int i = 0; i < A::kRows; ++i) {
    for (int j = 0; j < B::kColumns; ++j) {
      float sum = c.x[i * D::kColumns + j];
      for (int k = 0; k < A::kColumns; ++k) sum += a.x[i * A::kColumns + k] * b.x[k * B::kColumns + j];
      d.x[i * D::kColumns + j] = sum;
    }
  }
}

}  // namespace nvcuda::wmma
// NOLINTEND(bugprone-reserved-identifier)

// Runs all blocks of a grid.
inline void run_grid(dim3 grid, unsigned threads, const std::function<void()>& kernel) {
  gridDim = grid;
  blockDim = {threads, 1};
  for (unsigned block = 0; block < grid.x * grid.y; ++block) {
    std::barrier<> barrier(threads);
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        block_barrier = &barrier;
        threadIdx = {t, 0};
        blockIdx = {block % grid.x, block / grid.x};
        kernel();
      });
    }
    for (std::thread& thread : all) thread.join();
  }
}
