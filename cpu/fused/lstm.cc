#include "cpu/fused/gated.h"

namespace volvox::cpu {

extern const FusedKernel kLstmFused;
const FusedKernel kLstmFused = {"lstm", match_gated<1>};

}  // namespace volvox::cpu
