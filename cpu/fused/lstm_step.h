#pragma once

#include "cpu/kernel/lstm_gates.h"

namespace volvox::cpu {

using LstmStep = LstmGates<1>;

}  // namespace volvox::cpu
