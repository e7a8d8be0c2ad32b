#include "cpu/kernel/kernels_impl.h"
#include "cpu/math/lanes_avx512.h"

namespace volvox::cpu {

// Compiled with this path's instructions: nothing here may be shared with code for other processors, so
// every function is a template over Avx512Lanes.
#if defined(__AVX512F__)
const Kernels* avx512_kernels() {
  static constexpr Kernels kKernels = make_kernels<Avx512Lanes>(Isa::kAvx512, "avx512");
  return &kKernels;
}
#else
const Kernels* avx512_kernels() {
  return nullptr;
}
#endif

}  // namespace volvox::cpu
