#pragma once

#include "gpu/fused/fused_kernel.h"
#include "gpu/kernels/pointwise.h"

namespace volvox::gpu {

// One step of an LSTM in one kernel: rows of the operands are gathered through the row table straight into
// shared memory, the product runs on tensor cores with the four gates of a unit side by side, and the update
// of c and h happens in its epilogue. A block computes kLstmRows rows of kLstmUnits units.
inline constexpr std::uint32_t kLstmRows = 64;
inline constexpr std::uint32_t kLstmUnits = 32;
inline constexpr std::uint32_t kLstmColumns = 4 * kLstmUnits;
inline constexpr std::uint32_t kLstmTerms = 4;
// Operands are taken this many at a time.
inline constexpr std::uint32_t kLstmDepth = 32;

// The kernel's parameters.
struct LstmCall {
  FusedTask task;
  Place terms[kLstmTerms];             // operands, as they lie in planes, inputs or tables
  std::uint32_t widths[kLstmTerms]{};  // multiples of kLstmDepth
  std::uint32_t term_count = 0;
  Place start, c_in;  // start: float32, by output; kVector where it is a bias
  Place h_out, c_out;
  Place h_push[kMaxPushes], c_push[kMaxPushes];
  std::uint32_t h_pushes = 0, c_pushes = 0;
  std::uint64_t weights = 0;  // in the operands' precision, where the kernel's layout says (lstm.h)
  std::uint32_t units = 0;
  std::uint32_t width = 0;  // Σ widths
  ElementType type = ElementType::kBf16;
  std::uint32_t tf32 = 0;  // kF32 on tensor cores
  // What decides how a task is cut into blocks.
  std::uint32_t multiprocessors = 0, reproducible = 0;
};

// What the kernel for 9.0 reads, in the order of its view's sources: the operands, the old c, the start.
inline std::uint32_t lstm_sources(const LstmCall& call, Place (&to)[kMaxSources]) {
  static_assert(kLstmTerms + 2 <= kMaxSources);
  for (std::uint32_t t = 0; t < call.term_count; ++t) to[t] = call.terms[t];
  to[call.term_count] = call.c_in;
  to[call.term_count + 1] = call.start;
  return call.term_count + 2;
}

// Whether no task writes what rows start from: a bias, or a table.
VOLVOX_KERNEL_BODY bool starts_early(const LstmCall& call) {
  return call.start.kind == Place::Kind::kVector || call.start.kind == Place::Kind::kTable;
}

// How many elements of the operands, the first ones, can be multiplied before the task ahead has ended: those
// of tables, if the sums that they are added to can begin.
VOLVOX_KERNEL_BODY std::uint32_t early_width(const LstmCall& call) {
  std::uint32_t early = 0;
  if (!starts_early(call)) return early;
  for (std::uint32_t t = 0; t < call.term_count && call.terms[t].kind == Place::Kind::kTable; ++t)
    early += call.widths[t];
  return early;
}

// The update of one unit of one row from the sums of its gates.
VOLVOX_KERNEL_BODY void lstm_update(const LstmCall& call, const TaskHeader& task, std::uint32_t row,
                                    std::uint32_t unit, const float sums[4]) {
  Element e{&call.task.view, &task, call.task.places, 0, row, 0, unit};
  const float c_in = float_of(load_place(call.c_in, e));
  float z[4];
  for (std::uint32_t g = 0; g < 4; ++g) {
    e.k = g * call.units + unit;
    z[g] = sums[g] + float_of(load_place(call.start, e));
  }
  e.k = unit;
  const float c = fmaf(sigmoid_of(z[1]), c_in, sigmoid_of(z[0]) * tanhf(z[2]));
  const float h = sigmoid_of(z[3]) * tanhf(c);
  store_place(call.c_out, e, bits_of(c));
  store_place(call.h_out, e, bits_of(h));
  for (std::uint32_t i = 0; i < call.h_pushes; ++i) store_place(call.h_push[i], e, bits_of(h));
  for (std::uint32_t i = 0; i < call.c_pushes; ++i) store_place(call.c_push[i], e, bits_of(c));
}

// Element k of the product's operand, all terms one after the other, of one row; zero past the last.
VOLVOX_KERNEL_BODY float lstm_operand(const LstmCall& call, const TaskHeader& task, std::uint32_t row,
                                      std::uint32_t k) {
  Element e{&call.task.view, &task, call.task.places, 0, row, 0, k};
  for (std::uint32_t t = 0; t < call.term_count; ++t) {
    if (e.k < call.widths[t]) return float_of(load_place(call.terms[t], e));
    e.k -= call.widths[t];
  }
  return 0;
}

}  // namespace volvox::gpu
