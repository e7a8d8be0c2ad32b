#pragma once

#include "cells/ir/check_hash.h"
#include "gpu/kernels/place.h"
#include "gpu/kernels/resolve.h"

namespace volvox::gpu {

// Between two products of a cell lie gathers, activations, sums and scatters: element by element, never worth
// a pass over memory each. They are compiled to small programs over registers, one run for each element of a
// row, and one kernel runs all programs of a stage: one that reads them, or one that was made of them at load
// (stage.h).

struct Instruction {
  enum class Code : std::uint8_t {
    kLoad,        // out = place
    kStore,       // place = a
    kAdd,         // out = a + b
    kMul,         // out = a · b
    kMulAdd,      // out = fma(a, b, c)
    kSigmoid,     // out = σ(a)
    kTanh,        // out = tanh(a)
    kSegmentSum,  // out = Σ place over the row's edges, in their order
    kHash,        // out = check_hash(a, b)
    kHashAll,     // out = check_hash(0, a), mixed with place of each of the row's edges, in their order
  };
  Code code{};
  std::uint8_t out = 0, a = 0, b = 0, c = 0;
  std::uint8_t unused = 0;
  std::uint16_t place = 0;
};

inline constexpr std::uint32_t kRegisters = 24;

// Instructions [first, first + count), run for each element below `width` of each row (or edge).
struct Program {
  std::uint32_t first = 0, count = 0;
  std::uint32_t width = 0;
  std::uint32_t ragged = 0;
};

struct PointwiseCall {
  QueueView queue;
  RowView view;
  std::uint64_t programs = 0, instructions = 0, places = 0;
  std::uint32_t program_count = 0;
  std::uint32_t rows = 0;   // padding included
  std::uint32_t edges = 0;  // the most that there may be
  std::uint32_t widest = 0;
  std::uint32_t registers = 0;  // the most that a program uses
  std::uint64_t scratch = 0;
  std::uint32_t last = 0;  // the task's last kernel: it says that the task is done
  // Which compiled kernel runs it: number `stage` of this ModuleId of the driver. 0: the one that reads
  // programs.
  std::uint32_t compiled = 0, stage = 0;
  std::uint32_t blocks = 0;  // of a compiled stage, for each program
};

VOLVOX_KERNEL_BODY std::uint64_t segment_sum(const Place& place, Element e) {
  const auto* begin = at<const std::uint32_t>(e.task->edge_begin) + e.row;
  float sum = 0;
  for (e.edge = begin[0]; e.edge < begin[1]; ++e.edge) sum += float_of(load_place(place, e));
  return bits_of(sum);
}

VOLVOX_KERNEL_BODY std::uint64_t sign_extended(std::uint64_t token) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(token)});
}

VOLVOX_KERNEL_BODY std::uint64_t hash_all(const Place& place, Element e, std::uint64_t token) {
  const auto* begin = at<const std::uint32_t>(e.task->edge_begin) + e.row;
  std::uint64_t state = check_hash(0, sign_extended(token));
  for (e.edge = begin[0]; e.edge < begin[1]; ++e.edge) state = check_hash(state, load_place(place, e));
  return state;
}

VOLVOX_KERNEL_BODY float sigmoid_of(float x) {
  return 1.0F / (1.0F + expf(-x));
}

VOLVOX_KERNEL_BODY std::uint64_t compute_element(Instruction::Code code, std::uint64_t a, std::uint64_t b,
                                                 std::uint64_t c) {
  switch (code) {
    case Instruction::Code::kAdd:
      return bits_of(float_of(a) + float_of(b));
    case Instruction::Code::kMul:
      return bits_of(float_of(a) * float_of(b));
    case Instruction::Code::kMulAdd:
      return bits_of(fmaf(float_of(a), float_of(b), float_of(c)));
    case Instruction::Code::kSigmoid:
      return bits_of(sigmoid_of(float_of(a)));
    case Instruction::Code::kTanh:
      return bits_of(tanhf(float_of(a)));
    default:
      return check_hash(a, sign_extended(b));
  }
}

// Runs a program for one element. Register n is at r[n · stride], so that the threads of a block may keep
// theirs side by side.
VOLVOX_KERNEL_BODY void run_program(const PointwiseCall& call, const Program& program, const Element& e,
                                    std::uint64_t* r, std::uint32_t stride) {
  const auto* places = at<const Place>(e.places);
  const auto* instructions = at<const Instruction>(call.instructions) + program.first;
  for (std::uint32_t i = 0; i < program.count; ++i) {
    const Instruction in = instructions[i];
    switch (in.code) {
      case Instruction::Code::kLoad:
        r[in.out * stride] = load_place(places[in.place], e);
        break;
      case Instruction::Code::kStore:
        store_place(places[in.place], e, r[in.a * stride]);
        break;
      case Instruction::Code::kSegmentSum:
        r[in.out * stride] = segment_sum(places[in.place], e);
        break;
      case Instruction::Code::kHashAll:
        r[in.out * stride] = hash_all(places[in.place], e, r[in.a * stride]);
        break;
      default:
        r[in.out * stride] = compute_element(in.code, r[in.a * stride], r[in.b * stride], r[in.c * stride]);
    }
  }
}

// Element `i` of all that a program computes in this task; false: there are no more.
VOLVOX_KERNEL_BODY bool run_element(const PointwiseCall& call, const Program& program, std::uint64_t i,
                                    std::uint64_t* r, std::uint32_t stride) {
  const TaskHeader& task = current_task(call.queue);
  const std::uint32_t rows = program.ragged != 0 ? task.edges : call.rows;
  const std::uint64_t row = i / program.width;
  if (row >= rows) return false;
  Element e{&call.view,
            &task,
            call.places,
            call.scratch,
            static_cast<std::uint32_t>(row),
            0,
            static_cast<std::uint32_t>(i % program.width)};
  if (program.ragged != 0) {
    e.edge = e.row;
    e.row = at<const std::uint32_t>(task.edge_rows)[e.edge];
  }
  run_program(call, program, e, r, stride);
  return true;
}

}  // namespace volvox::gpu
