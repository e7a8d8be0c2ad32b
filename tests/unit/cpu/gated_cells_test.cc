#include "cells/library/gru_reset_before.h"
#include "cells/library/lstm_peephole.h"
#include "cells/library/lstm_projection.h"
#include "cells/library/rnn.h"
#include "same_bits.h"

namespace volvox::cpu {
namespace {

constexpr std::int64_t kInput = 9, kHidden = 20;

TEST(GenericCell, RunsTheOtherRecurrentCellsAsTheEvaluatorDoes) {
  const Weights weights = RandomWeights()
                              .add("c.embedding", {kVocabulary, kInput})
                              .add("c.weight_gates", {2 * kHidden, kHidden})
                              .add("c.weight_new", {kHidden, kHidden})
                              .add("c.weight_ih", {3 * kHidden, kInput})
                              .add("c.bias", {3 * kHidden})
                              .weights();
  expect_same_bits(gru_reset_before_cell("c", {kInput, kHidden}, &weights).value(), weights);
  const Weights plain = RandomWeights()
                            .add("c.embedding", {kVocabulary, kInput})
                            .add("c.weight_ih", {kHidden, kInput})
                            .add("c.weight_hh", {kHidden, kHidden})
                            .add("c.bias", {kHidden})
                            .weights();
  for (const char* activation : {"tanh", "relu"}) {
    expect_same_bits(rnn_cell("c", activation, {kInput, kHidden}, &plain).value(), plain);
  }
}

TEST(GenericCell, RunsOtherLstmsAsTheEvaluatorDoes) {
  const Weights weights = RandomWeights()
                              .add("c.embedding", {kVocabulary, kInput})
                              .add("c.weight_ih", {4 * kHidden, kInput})
                              .add("c.weight_hh", {4 * kHidden, kHidden})
                              .add("c.bias", {4 * kHidden})
                              .add("c.weight_hr", {kHidden, kHidden})
                              .add("c.peephole_i", {kHidden})
                              .add("c.peephole_f", {kHidden})
                              .add("c.peephole_o", {kHidden})
                              .weights();
  expect_same_bits(lstm_peephole_cell("c", {kInput, kHidden}, &weights).value(), weights);
  expect_same_bits(lstm_projection_cell("c", {kInput, kHidden}, &weights).value(), weights);
}

}  // namespace
}  // namespace volvox::cpu
