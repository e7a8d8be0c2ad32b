#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

// nvcc's library for the load (gpu/cuda/runtime_compiler.h) knows the device alone.
#if !defined(__CUDACC_RTC__)
#include "base/clock.h"
#endif

// Without a GPU a kernel cannot be run, and what was never run is wrong. So the body of every kernel is an
// ordinary function of one thread's number: nvcc compiles it for the device, any compiler for the host, where
// the tests run it thread by thread.
#if defined(__CUDACC__)
#define VOLVOX_KERNEL_BODY __host__ __device__ inline
#define VOLVOX_UNROLL _Pragma("unroll")
#else
#define VOLVOX_KERNEL_BODY inline
#define VOLVOX_UNROLL
#endif

namespace volvox::gpu {

// Memory of a device: an address there, which comes as a number. (On the host that tests run on: a pointer.)
template <class T>
VOLVOX_KERNEL_BODY T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));  // NOLINT(performance-no-int-to-ptr)
}

// The bits of a number in the low end of a register.
VOLVOX_KERNEL_BODY std::uint64_t bits_of(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}
VOLVOX_KERNEL_BODY float float_of(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<unsigned>(bits));
#else
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
#endif
}

// Writes what another processor watches, after everything that this thread wrote before.
VOLVOX_KERNEL_BODY void publish(std::uint64_t* place, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  __threadfence_system();
  *reinterpret_cast<volatile std::uint64_t*>(place) = value;
#else
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
#endif
}

// Writes what another processor looks at now and then, whatever else this thread wrote before.
VOLVOX_KERNEL_BODY void announce(std::uint64_t* place, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<volatile std::uint64_t*>(place) = value;
#else
  __atomic_store_n(place, value, __ATOMIC_RELAXED);
#endif
}

// Writes a word of the device's own memory that other blocks wait for, after everything that this thread
// wrote or had learned of before.
VOLVOX_KERNEL_BODY void hand_over(std::uint64_t* place, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  __threadfence();
  *reinterpret_cast<volatile std::uint64_t*>(place) = value;
#else
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
#endif
}

// Until a word that is handed over is `value` or more. What was written before it can be read then, by this
// thread and by those that meet it at a barrier. Whoever writes it must be running, or have run.
VOLVOX_KERNEL_BODY void wait_for_word(const std::uint64_t* place, std::uint64_t value) {
  std::uint64_t now = 0;
  do {
#if defined(__CUDA_ARCH__)
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(place) : "memory");
#else
    now = __atomic_load_n(place, __ATOMIC_ACQUIRE);
#endif
  } while (now < value);
}

// Adds to a word of the device's own memory to which other threads may be adding; its new value. What this
// thread wrote before is not shown by it: that takes a fence.
VOLVOX_KERNEL_BODY std::uint64_t add_to(std::uint64_t* word, std::uint64_t number) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(number)) +
         number;
#else
  return __atomic_add_fetch(word, number, __ATOMIC_ACQ_REL);
#endif
}

// Sets bits of a word whose other bits other threads may be setting.
VOLVOX_KERNEL_BODY void add_bits(std::uint32_t* word, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  atomicOr(word, bits);
#else
  __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
#endif
}

// A word as it is in memory now, whatever this processor saw there before.
VOLVOX_KERNEL_BODY std::uint64_t newest(const std::uint64_t* place) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const volatile std::uint64_t*>(place);
#else
  return __atomic_load_n(place, __ATOMIC_ACQUIRE);
#endif
}

// Nanoseconds of a clock that only goes on.
VOLVOX_KERNEL_BODY std::uint64_t device_clock_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<std::uint64_t>(steady_now().time_since_epoch().count());
#endif
}

}  // namespace volvox::gpu
