#pragma once

#include "cpu/kernel/lstm_gates.h"

namespace volvox::cpu {

using TreeLstmStep = LstmGates<2>;

}  // namespace volvox::cpu
