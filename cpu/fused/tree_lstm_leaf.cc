#include "cpu/fused/gated.h"

namespace volvox::cpu {

extern const FusedKernel kTreeLstmLeafFused;
const FusedKernel kTreeLstmLeafFused = {"tree_lstm_leaf", match_gated<0>};

}  // namespace volvox::cpu
