#include <algorithm>

#include <gtest/gtest.h>

#include "cells/library/lattice.h"
#include "cells/library/lstm.h"
#include "cpu/fused/fused_kernel.h"

namespace volvox::cpu {
namespace {

bool matches(const Cell& cell) {
  const auto all = fused_kernels();
  const auto kernel = std::find_if(all.begin(), all.end(),
                                   [](const FusedKernel* one) { return one->name == "lattice_word"; });
  return kernel != all.end() && (*kernel)->match(cell).has_value();
}

// That it computes the same bits is seen where models of all kinds run fused and not (unit_simulation).
TEST(FusedLatticeWord, KnowsTheWordsOfALatticeLstmAlone) {
  EXPECT_TRUE(matches(lattice_lstm_word_cell("word", "l", {9, 8}).value()));
  EXPECT_FALSE(matches(lattice_lstm_character_cell("character", "l", {9, 8}).value()));
  EXPECT_FALSE(matches(lattice_gru_word_cell("word", "l", {9, 8}).value()));
  EXPECT_FALSE(matches(lstm_cell("c", {9, 8}).value()));
}

}  // namespace
}  // namespace volvox::cpu
