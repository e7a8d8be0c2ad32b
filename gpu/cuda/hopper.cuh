#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/cuda/launch.cuh"
#include "gpu/kernels/target.h"

// What GPUs of compute capability 9.0 can do and C++ has no word for: barriers that copies arrive at, the
// copy engine, memory of neighbouring blocks, products of whole warpgroups, kernels that begin before the
// one ahead of them has ended. All of it is defined by the PTX ISA, whose names are given.
namespace volvox::gpu::hopper {

// Types of operands, and four numbers in them.
struct Bf16 {
  __device__ static uint2 pack(const float (&x)[4]) {
    const __nv_bfloat162 low = __floats2bfloat162_rn(x[0], x[1]), high = __floats2bfloat162_rn(x[2], x[3]);
    return {reinterpret_cast<const unsigned&>(low), reinterpret_cast<const unsigned&>(high)};
  }
};
struct F16 {
  __device__ static uint2 pack(const float (&x)[4]) {
    const __half2 low = __floats2half2_rn(x[0], x[1]), high = __floats2half2_rn(x[2], x[3]);
    return {reinterpret_cast<const unsigned&>(low), reinterpret_cast<const unsigned&>(high)};
  }
};

// Four numbers at from + offset, zeros where `from` is 0: by a predicate, so that nobody waits for them to
// choose.
__device__ inline void load_four(float (&to)[4], std::uint64_t from, std::uint64_t offset) {
  to[0] = to[1] = to[2] = to[3] = 0;
  asm volatile(
      "{\n"
      ".reg .pred there;\n"
      "setp.ne.u64 there, %5, 0;\n"
      "@there ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
      : "l"(from + offset), "l"(from));
}
__device__ inline void store_four(std::uint64_t to, const float (&x)[4]) {
  *at<float4>(to) = {x[0], x[1], x[2], x[3]};
}
template <class T>
__device__ void store_narrow(std::uint64_t to, const float (&x)[4]) {
  *at<uint2>(to) = T::pack(x);
}
// Within 2⁻¹¹ of it.
__device__ inline float fast_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

using SharedAddress = std::uint32_t;
__device__ inline SharedAddress shared_address(const void* p) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(p));
}

// An object of the block.
template <class T>
__device__ T& shared_object() {
  __shared__ T object;
  return object;
}
// The block's dynamic shared memory from the first multiple of 1024 bytes on.
__device__ inline std::byte* shared_memory() {
  extern __shared__ std::byte dynamic[];
  return dynamic + (1024 - shared_address(dynamic) % 1024) % 1024;
}

// Barriers in shared memory (mbarrier), which complete a phase when as many have arrived as they were made
// for, and all bytes that were announced.
__device__ inline void init_barrier(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}
// Shows new barriers to the copy engine and to the cluster.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// Arrives, and announces bytes that copy_bulk() brings.
__device__ inline void expect_bytes(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
// Arrives once all copy_vector() of this thread so far have ended.
__device__ inline void arrive_when_copied(std::uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
// Until the phase of this parity has completed.
__device__ inline void wait(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// A stretch of memory to shared memory, by the copy engine; `barrier` was told the bytes. Addresses and size
// are multiples of 16.
__device__ inline void copy_bulk(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
// The same to this place in each of the first `blocks` blocks of the cluster, whose barriers in the place of
// `barrier` were told, or will be.
__device__ inline void copy_bulk_to_all(void* to, const void* from, unsigned bytes, std::uint64_t* barrier,
                                        unsigned blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "h"(static_cast<std::uint16_t>((1U << blocks) - 1))
      : "memory");
}
// 16 bytes to shared memory, of which the first `bytes` are those at `from`, the others zeros.
__device__ inline void copy_vector(SharedAddress to, const void* from, unsigned bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
// Shows the products that follow what copy_vector() brought: they read memory by another way.
__device__ inline void fence_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// All threads of all blocks of a cluster: that they have come here, and that all have.
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
// To the same place in the shared memory of block `rank` of the cluster.
__device__ inline void store_remote(void* to, unsigned rank, float4 x) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n"
      "}" ::"r"(shared_address(to)),
      "r"(rank), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
      : "memory");
}
// Arrives at the barrier in the same place of block `rank` of the cluster, for who has read shared memory and
// written none: a release to the cluster would wait for all that the thread has under way.
__device__ inline void arrive_remote(std::uint64_t* barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}
// `kCount` threads of a block, which name the same barrier. (Threads of a warp come to it together, also
// after what one of them did alone.)
template <unsigned kBarrier, unsigned kCount>
__device__ inline void sync_threads() {
  __syncwarp();
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kCount) : "memory");
}

// Of a warpgroup that needs fewer registers than the kernel was launched with, and of one that needs more.
template <unsigned kCount>
__device__ inline void set_registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <unsigned kCount>
__device__ inline void set_registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

// An operand of a product in shared memory, for wgmma: rows of 64 elements of 16 bits with the 128-byte
// swizzle, eight rows in 1024 bytes. Two more are 16 elements further on.
__device__ inline std::uint64_t matrix_at(const void* p) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62, kEightRows = std::uint64_t{1024 / 16} << 32,
                          kUnused = std::uint64_t{1} << 16;
  return kSwizzle128 | kEightRows | kUnused | (shared_address(p) & 0x3ffff) >> 4;
}
// Before the first product, and after registers of sums were touched by anything else.
__device__ inline void fence_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most so many committed groups of products are still under way.
template <unsigned kCount>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kCount) : "memory");
}

// sums += rows · columnsᵀ by a warpgroup, 16 deep: 64 rows, kColumns columns. Thread t has, of each eight
// columns j, rows 16·(t / 32) + t % 32 / 4 (sums 4j, 4j + 1) and 8 more (4j + 2, 4j + 3), columns
// 8j + 2·(t % 4) and the next.
template <class T, unsigned kColumns>
struct Products;

// `type`: what PTX calls T.
#define VOLVOX_PRODUCTS_64(T, type)                                                                         \
  template <>                                                                                               \
  struct Products<T, 64> {                                                                                  \
    __device__ static void add(float (&d)[32], std::uint64_t rows, std::uint64_t columns) {                 \
      asm volatile(                                                                                         \
          "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                       \
          " {"                                                                                              \
          "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
          "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "                                   \
          "%32, %33, 1, 1, 1, 0, 0;"                                                                        \
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
            "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
            "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
            "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
            "+f"(d[29]), "+f"(d[30]), "+f"(d[31])                                                           \
          : "l"(rows), "l"(columns));                                                                       \
    }                                                                                                       \
  };
VOLVOX_PRODUCTS_64(Bf16, "bf16")
VOLVOX_PRODUCTS_64(F16, "f16")
#undef VOLVOX_PRODUCTS_64
#define VOLVOX_PRODUCTS_128(T, type)                                                                        \
  template <>                                                                                               \
  struct Products<T, 128> {                                                                                 \
    __device__ static void add(float (&d)[64], std::uint64_t rows, std::uint64_t columns) {                 \
      asm volatile(                                                                                         \
          "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type                                      \
          " {"                                                                                              \
          "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "      \
          "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "      \
          "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "      \
          "%56, %57, %58, %59, %60, %61, %62, %63}, "                                                       \
          "%64, %65, 1, 1, 1, 0, 0;"                                                                        \
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
            "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
            "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
            "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
            "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),      \
            "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),      \
            "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),      \
            "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),      \
            "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])       \
          : "l"(rows), "l"(columns));                                                                       \
    }                                                                                                       \
  };
VOLVOX_PRODUCTS_128(Bf16, "bf16")
VOLVOX_PRODUCTS_128(F16, "f16")
#undef VOLVOX_PRODUCTS_128

}  // namespace volvox::gpu::hopper
