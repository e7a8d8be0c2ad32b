#include "cpu/fused/gated.h"

namespace volvox::cpu {

extern const FusedKernel kTreeLstmFused;
const FusedKernel kTreeLstmFused = {"tree_lstm", match_gated<2>};

}  // namespace volvox::cpu
