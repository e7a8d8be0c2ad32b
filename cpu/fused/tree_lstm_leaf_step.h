#pragma once

#include "cpu/kernel/lstm_gates.h"

namespace volvox::cpu {

using TreeLstmLeafStep = LstmGates<0>;

}  // namespace volvox::cpu
