#include "cpu/kernel/kernels_impl.h"
#include "cpu/math/lanes_avx2.h"

namespace volvox::cpu {

// Compiled with this path's instructions: nothing here may be shared with code for other processors, so
// every function is a template over Avx2Lanes.
#if defined(__AVX2__)
const Kernels* avx2_kernels() {
  static constexpr Kernels kKernels = make_kernels<Avx2Lanes>(Isa::kAvx2, "avx2");
  return &kKernels;
}
#else
const Kernels* avx2_kernels() {
  return nullptr;
}
#endif

}  // namespace volvox::cpu
