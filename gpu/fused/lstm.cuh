#pragma once

// nvcc, or a test that stands in for it.
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#endif

#include <bit>

#include "gpu/cuda/finish.cuh"
#include "gpu/fused/lstm_step.h"

// One step of an LSTM as one kernel; see gpu/fused/lstm_step.h. A block of 8 warps computes a tile of 64 rows
// by 128 columns: 32 units, four gates each. Slabs of the operands go to shared memory in turn, the next one
// on its way in registers while the tensor cores work on the last.
namespace volvox::gpu::lstm {

using namespace nvcuda;

inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kPad = 8;  // elements: rows of a tile begin in different banks

struct Bf16 {
  using Element = __nv_bfloat16;
  using Fragment = __nv_bfloat16;
  static constexpr unsigned kDepth = 32, kStep = 16;
  __device__ static Element convert(float x) { return __float2bfloat16_rn(x); }
};
struct F16 {
  using Element = __half;
  using Fragment = __half;
  static constexpr unsigned kDepth = 32, kStep = 16;
  __device__ static Element convert(float x) { return __float2half_rn(x); }
};
struct Tf32 {
  using Element = float;
  using Fragment = wmma::precision::tf32;
  static constexpr unsigned kDepth = 16, kStep = 8;
  __device__ static Element convert(float x) { return wmma::__float_to_tf32(x); }
};

// A slab of the operands, twice, and where threads put what they bring, as elements.
template <class T>
struct Tiles {
  static constexpr unsigned kStrideA = T::kDepth + kPad, kStrideB = kLstmColumns + kPad;
  static constexpr unsigned kVectorElements = 16 / sizeof(typename T::Element);
  // Eight threads store 16 bytes each at once, four of them to one row. So many rows lie half of the banks
  // apart.
  static constexpr unsigned kApart = sizeof(typename T::Element) == 2 ? 4 : 2;

  static constexpr unsigned row_of(unsigned thread) {
    const unsigned i = thread / 4, group = 2 * kApart;
    return i / group * group + i % 2 * kApart + i % group / 2;
  }
  // Of the quarter of a row that a thread brings.
  static constexpr unsigned a_at(unsigned thread) {
    return row_of(thread) * kStrideA + thread % 4 * kVectorElements;
  }
  // Of a vector of the weights.
  static constexpr unsigned b_at(unsigned vector) {
    constexpr unsigned kPerRow = kLstmColumns / kVectorElements;
    return vector / kPerRow * kStrideB + vector % kPerRow * kVectorElements;
  }

  alignas(32) typename T::Element a[2][kLstmRows * kStrideA];
  alignas(32) typename T::Element b[2][T::kDepth * kStrideB];
};
inline constexpr unsigned kStrideC = kLstmColumns + 4;

template <class T>
union Shared {
  Tiles<T> tiles;
  alignas(32) float sums[kLstmRows * kStrideC];
};

// Into shared memory, 16 bytes at once: stores of single elements meet in its banks, and nvcc takes a vector
// apart where it can.
__device__ inline void store_shared(void* to, const uint4& x) {
#if defined(__CUDACC__)
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y), "r"(x.z),
               "r"(x.w)
               : "memory");
#else
  *static_cast<uint4*>(to) = x;
#endif
}

// One thread's part of the loads: a quarter of a row of the operand, two vectors of the weights.
template <class T>
class Loader {
 public:
  static constexpr unsigned kFloats = T::kDepth / 4;
  static constexpr unsigned kVectors = T::kDepth * kLstmColumns / Tiles<T>::kVectorElements / kThreads;

  __device__ Loader(const LstmCall& call, const TaskHeader& task)
      : call_(call), task_(task), row_(blockIdx.y * kLstmRows + Tiles<T>::row_of(threadIdx.x)) {
    weights_ =
        call.weights + std::uint64_t{blockIdx.x} * call.width * kLstmColumns * sizeof(typename T::Element);
  }

  // Slab `slab` on its way: widths are multiples of the depth, so it lies in one term.
  __device__ void fetch(unsigned slab) {
    const unsigned k = slab * T::kDepth;
    while (k >= term_end_) enter_term();
    const unsigned inside = k - term_begin_ + threadIdx.x % 4 * kFloats;
    for (unsigned i = 0; i < kFloats; i += 4) {
      const float4 x = source_ == 0 ? float4{0, 0, 0, 0}
                                    : *at<const float4>(source_ + std::uint64_t{inside + i} * sizeof(float));
      a_[i] = x.x;
      a_[i + 1] = x.y;
      a_[i + 2] = x.z;
      a_[i + 3] = x.w;
    }
    const auto* from = at<const uint4>(weights_) + std::uint64_t{slab} * kVectors * kThreads;
    for (unsigned i = 0; i < kVectors; ++i) b_[i] = from[i * kThreads + threadIdx.x];
  }

  __device__ void store(Tiles<T>& tiles, unsigned buffer) const {
    store_shared(tiles.a[buffer] + Tiles<T>::a_at(threadIdx.x), {word(0), word(1), word(2), word(3)});
    for (unsigned i = 0; i < kVectors; ++i) {
      store_shared(tiles.b[buffer] + Tiles<T>::b_at(i * kThreads + threadIdx.x), b_[i]);
    }
  }

 private:
  static constexpr unsigned kPerWord = sizeof(std::uint32_t) / sizeof(typename T::Element);
  static_assert(kFloats == Tiles<T>::kVectorElements && Tiles<T>::kStrideA % kFloats == 0);

  // Word `i` of a quarter of a row of the slab.
  __device__ std::uint32_t word(unsigned i) const {
    if constexpr (kPerWord == 1) {
      return std::bit_cast<std::uint32_t>(T::convert(a_[i]));
    } else {
      const auto first = std::bit_cast<std::uint16_t>(T::convert(a_[kPerWord * i]));
      const auto second = std::bit_cast<std::uint16_t>(T::convert(a_[kPerWord * i + 1]));
      return first | std::uint32_t{second} << 16;
    }
  }

  __device__ void enter_term() {
    const unsigned term = next_term_++;
    term_begin_ = term_end_;
    term_end_ += call_.widths[term];
    const Element e{&call_.task.view, &task_, call_.task.places, 0, row_, 0, 0};
    source_ = row_ < call_.task.rows ? source_address(call_.terms[term], e) : 0;
    if (source_ != 0) source_ += std::uint64_t{call_.terms[term].offset} * sizeof(float);
  }

  const LstmCall& call_;
  const TaskHeader& task_;
  const std::uint32_t row_;
  std::uint64_t weights_ = 0, source_ = 0;
  unsigned next_term_ = 0, term_begin_ = 0, term_end_ = 0;
  float a_[kFloats];
  uint4 b_[kVectors];
};

// Loads a fragment from shared memory.
template <class Fragment, class Element>
__device__ void load(Fragment& fragment, const Element* from, unsigned stride) {
  wmma::load_matrix_sync(fragment, from, stride);
}

#if defined(__CUDACC__)
// nvcc sees that an operand in float16 lies in shared memory, and loads its fragments with ldmatrix. Of the
// other types it does not, and loads them from anywhere, number by number: here it is told. A fragment's
// elements are its registers, in order, as in <mma.h>.
#define VOLVOX_LOAD_SHARED(use, operand, shape, fragment_type, element_type)               \
  __device__ inline void load(                                                             \
      wmma::fragment<wmma::use, 16, 16, shape, fragment_type, wmma::row_major>& fragment,  \
      const element_type* from, unsigned stride) {                                         \
    auto* r = reinterpret_cast<unsigned*>(fragment.x);                                     \
    asm volatile("wmma.load." operand " {%0, %1, %2, %3}, [%4], %5;"                       \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                          \
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))), "r"(stride) \
                 : "memory");                                                              \
  }
VOLVOX_LOAD_SHARED(matrix_a, "a.sync.aligned.row.m16n16k16.shared.bf16", 16, __nv_bfloat16, __nv_bfloat16)
VOLVOX_LOAD_SHARED(matrix_b, "b.sync.aligned.row.m16n16k16.shared.bf16", 16, __nv_bfloat16, __nv_bfloat16)
VOLVOX_LOAD_SHARED(matrix_a, "a.sync.aligned.row.m16n16k8.shared.tf32", 8, wmma::precision::tf32, float)
VOLVOX_LOAD_SHARED(matrix_b, "b.sync.aligned.row.m16n16k8.shared.tf32", 8, wmma::precision::tf32, float)
#undef VOLVOX_LOAD_SHARED
#endif

// What one warp adds up: 32 rows by 32 columns.
template <class T>
class WarpTile {
 public:
  __device__ WarpTile() {
    for (auto& row : sums_) {
      for (auto& sum : row) wmma::fill_fragment(sum, 0.0F);
    }
  }

  __device__ void add(const Tiles<T>& tiles, unsigned buffer) {
    for (unsigned k = 0; k < T::kDepth; k += T::kStep) {
      wmma::fragment<wmma::matrix_a, 16, 16, T::kStep, typename T::Fragment, wmma::row_major> a[2];
      wmma::fragment<wmma::matrix_b, 16, 16, T::kStep, typename T::Fragment, wmma::row_major> b[2];
      for (unsigned i = 0; i < 2; ++i) {
        load(a[i], tiles.a[buffer] + (row() + 16 * i) * Tiles<T>::kStrideA + k, Tiles<T>::kStrideA);
        load(b[i], tiles.b[buffer] + k * Tiles<T>::kStrideB + column() + 16 * i, Tiles<T>::kStrideB);
        if constexpr (sizeof(typename T::Element) == 4) {
          for (int x = 0; x < b[i].num_elements; ++x) b[i].x[x] = wmma::__float_to_tf32(b[i].x[x]);
        }
      }
      for (unsigned i = 0; i < 2; ++i) {
        for (unsigned j = 0; j < 2; ++j) wmma::mma_sync(sums_[i][j], a[i], b[j], sums_[i][j]);
      }
    }
  }

  __device__ void store(float* to) const {
    for (unsigned i = 0; i < 2; ++i) {
      for (unsigned j = 0; j < 2; ++j) {
        wmma::store_matrix_sync(to + (row() + 16 * i) * kStrideC + column() + 16 * j, sums_[i][j], kStrideC,
                                wmma::mem_row_major);
      }
    }
  }

 private:
  __device__ static unsigned row() { return threadIdx.x / 32 / 4 * 32; }
  __device__ static unsigned column() { return threadIdx.x / 32 % 4 * 32; }

  wmma::fragment<wmma::accumulator, 16, 16, T::kStep, float> sums_[2][2];
};

template <class T>
__device__ void update_units(const LstmCall& call, const TaskHeader& task, const float* sums) {
  for (unsigned i = threadIdx.x; i < kLstmRows * kLstmUnits; i += kThreads) {
    const unsigned r = i / kLstmUnits, u = i % kLstmUnits;
    const std::uint32_t row = blockIdx.y * kLstmRows + r, unit = blockIdx.x * kLstmUnits + u;
    if (row >= call.task.rows || unit >= call.units) continue;
    float gates[4];
    for (unsigned g = 0; g < 4; ++g) gates[g] = sums[r * kStrideC + g * kLstmUnits + u];
    lstm_update(call, task, row, unit, gates);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) kernel(const LstmCall call) {
  __shared__ Shared<T> shared;
  const TaskHeader& task = current_task(call.task.queue);
  const unsigned slabs = call.width / T::kDepth;
  Loader<T> loader(call, task);
  WarpTile<T> tile;
  loader.fetch(0);
  loader.store(shared.tiles, 0);
  for (unsigned slab = 0; slab < slabs; ++slab) {
    if (slab + 1 < slabs) loader.fetch(slab + 1);
    __syncthreads();  // this slab lies in shared memory, and nobody reads the one before it
    tile.add(shared.tiles, slab % 2);
    if (slab + 1 < slabs) loader.store(shared.tiles, (slab + 1) % 2);
  }
  __syncthreads();
  tile.store(shared.sums);
  __syncthreads();
  update_units<T>(call, task, shared.sums);
  finish_with_last_block(call.task.queue);
}

}  // namespace volvox::gpu::lstm
