#pragma once

#include "cells/ir/cell.h"
#include "gpu/kernels/half.h"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/resolve.h"
#include "gpu/kernels/target.h"

namespace volvox::gpu {

// Between two products of a cell lie gathers, activations, sums and scatters: element by element, never worth
// a pass over memory each. They are compiled to small programs over registers, one run for each element of a
// row, and one kernel runs all programs of a stage.

enum class ElementType : std::uint8_t { kF32, kI32, kU64, kBf16, kF16 };

VOLVOX_KERNEL_BODY std::uint32_t element_bytes(ElementType type) {
  return type == ElementType::kU64 ? 8U : type == ElementType::kBf16 || type == ElementType::kF16 ? 2U : 4U;
}

// Where an element lies that is read or written. Element k of row r: at base + row·stride + (offset +
// k)·size, where the row is as the kind says.
struct Place {
  enum class Kind : std::uint8_t {
    kBuffer,       // r, in the queue's scratch: base is an offset there
    kPlane,        // the slot that gather `index` reads
    kRaggedPlane,  // the slot of the edge
    kOut,          // the slot that the row writes
    kInput,        // at the address of pull `index`
    kResult,       // at the addresses of push `index`
    kVector,       // the same for all rows
    kTable,        // the id that place `id` holds; zeros where it is not below `rows`
  };
  Kind kind = Kind::kBuffer;
  ElementType type = ElementType::kF32;
  std::uint8_t index = 0;
  bool ragged = false;  // kBuffer: a row for each edge
  std::uint32_t offset = 0;
  std::uint32_t stride_bytes = 0;
  std::uint32_t rows = 0;
  std::uint32_t id = 0;
  std::uint64_t base = 0;
};

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
};

// One element on its way through a program, and what lies around it.
struct Element {
  const RowView* view;
  const TaskHeader* task;
  std::uint64_t places, scratch;
  std::uint32_t row, edge, k;
};

VOLVOX_KERNEL_BODY std::uint64_t load_bits(std::uint64_t address, ElementType type) {
  switch (type) {
    case ElementType::kU64:
      return *at<const std::uint64_t>(address);
    case ElementType::kBf16:
      return bits_of(from_bfloat16(*at<const std::uint16_t>(address)));
    case ElementType::kF16:
      return bits_of(from_float16(*at<const std::uint16_t>(address)));
    default:
      return *at<const std::uint32_t>(address);
  }
}

VOLVOX_KERNEL_BODY void store_bits(std::uint64_t address, ElementType type, std::uint64_t value) {
  switch (type) {
    case ElementType::kU64:
      *at<std::uint64_t>(address) = value;
      break;
    case ElementType::kBf16:
      *at<std::uint16_t>(address) = to_bfloat16(float_of(value));
      break;
    case ElementType::kF16:
      *at<std::uint16_t>(address) = to_float16(float_of(value));
      break;
    default:
      *at<std::uint32_t>(address) = static_cast<std::uint32_t>(value);
  }
}

// Address of the row that the place means for this element; 0: there is none, read zeros.
VOLVOX_KERNEL_BODY std::uint64_t row_address(const Place& place, const Element& e) {
  const RowView& view = *e.view;
  switch (place.kind) {
    case Place::Kind::kBuffer:
      return e.scratch + place.base + std::uint64_t{place.stride_bytes} * (place.ragged ? e.edge : e.row);
    case Place::Kind::kPlane:
      return place.base +
             std::uint64_t{place.stride_bytes} * at<const std::uint32_t>(view.gathers[place.index])[e.row];
    case Place::Kind::kRaggedPlane:
      return place.base +
             std::uint64_t{place.stride_bytes} * at<const std::uint32_t>(e.task->edge_slots)[e.edge];
    case Place::Kind::kOut:
      return place.base + std::uint64_t{place.stride_bytes} * at<const std::uint32_t>(view.out)[e.row];
    case Place::Kind::kInput:
      return at<const std::uint64_t>(view.pulls[place.index])[e.row];
    default:
      return place.base;
  }
}

// Where to read the place's row; 0: zeros.
VOLVOX_KERNEL_BODY std::uint64_t source_address(const Place& place, const Element& e) {
  const std::uint64_t row = row_address(place, e);
  if (place.kind != Place::Kind::kTable) return row;
  const Place& id_place = at<const Place>(e.places)[place.id];
  const std::uint64_t id_row = row_address(id_place, e);
  const std::uint64_t id =
      id_row == 0 ? 0 : load_bits(id_row + std::uint64_t{id_place.offset} * 4U, ElementType::kI32);
  return id < place.rows ? row + id * place.stride_bytes : 0;  // a negative id is a large one
}

VOLVOX_KERNEL_BODY std::uint64_t load_place(const Place& place, const Element& e) {
  const std::uint64_t row = source_address(place, e);
  if (row == 0) return 0;
  return load_bits(row + std::uint64_t{place.offset + e.k} * element_bytes(place.type), place.type);
}

VOLVOX_KERNEL_BODY void store_place(const Place& place, const Element& e, std::uint64_t value) {
  const std::uint64_t at_element = std::uint64_t{place.offset + e.k} * element_bytes(place.type);
  if (place.kind != Place::Kind::kResult)
    return store_bits(row_address(place, e) + at_element, place.type, value);
  const auto* targets =
      at<const std::uint64_t>(e.view->pushes[place.index]) + std::uint64_t{e.row} * kTargets;
  for (std::uint32_t i = 0; i < kTargets; ++i) {
    if (targets[i] != 0) store_bits(targets[i] + at_element, place.type, value);
  }
}

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

VOLVOX_KERNEL_BODY std::uint64_t compute(const Instruction& in, const std::uint64_t* r,
                                         std::uint32_t stride) {
  const float a = float_of(r[in.a * stride]), b = float_of(r[in.b * stride]);
  switch (in.code) {
    case Instruction::Code::kAdd:
      return bits_of(a + b);
    case Instruction::Code::kMul:
      return bits_of(a * b);
    case Instruction::Code::kMulAdd:
      return bits_of(fmaf(a, b, float_of(r[in.c * stride])));
    case Instruction::Code::kSigmoid:
      return bits_of(sigmoid_of(a));
    case Instruction::Code::kTanh:
      return bits_of(tanhf(a));
    default:
      return check_hash(r[in.a * stride], sign_extended(r[in.b * stride]));
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
        r[in.out * stride] = compute(in, r, stride);
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
