#include "cpu/kernel/kernels_impl.h"
#include "cpu/math/lanes_portable.h"

namespace volvox::cpu {

const Kernels* portable_kernels() {
  static constexpr Kernels kKernels = make_kernels<PortableLanes>(Isa::kPortable, "portable");
  return &kKernels;
}

}  // namespace volvox::cpu
