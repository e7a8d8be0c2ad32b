#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "device/device.h"
#include "gpu/driver/driver.h"
#include "gpu/memory/gpu_planes.h"

namespace volvox::gpu {

// What a plan needs of the device that it is made for.
struct PlanResources {
  std::function<const GpuPlanes*(PoolId)> pool;  // nullptr: there is none
  // Keeps constants (weights, biases, tables) on the device for as long as the cell lives.
  std::function<Result<DeviceAddress>(std::span<const std::byte>)> keep;
};

struct PlanOptions {
  CompileOptions compile;
  Precision precision = Precision::kFloat32;
  bool reproducible = false;
  int capability = 0;  // of the device: its major number
  std::uint32_t multiprocessors = 0;
  bool plain = false;  // one program for each operator: slow, and the same within rounding
};

// One product over all rows (or edges) of a task. Its operand is gathered into one matrix in scratch, all
// terms side by side, in the operands' precision.
struct ProductPlan {
  std::uint32_t outputs = 0, width = 0;
  std::uint32_t stride_k = 0, stride_out = 0;  // elements
  bool ragged = false;
  std::uint64_t x = 0, out = 0;  // offsets in scratch
  DeviceAddress w = 0;
};

// Index of the largest element of each row of a buffer in scratch, to another one.
struct ArgmaxPlan {
  std::uint32_t width = 0;
  Place x, out;
  DeviceAddress bias = 0;  // that is still to be added to each row; 0: none
};

// A convolution of each row of a buffer in scratch, to another one, without the bias.
struct ConvolutionPlan {
  Convolution shape;
  Place x, out;
  DeviceAddress w = 0;
};

// Programs that may run at once.
struct StagePlan {
  std::uint32_t first_program = 0, program_count = 0;
  std::uint32_t widest = 0;
  std::uint32_t registers = 0;  // the most that a program uses
  bool ragged = false;
};

// How the generic path runs one cell: stages of pointwise programs with products, convolutions and argmaxes
// in between. A cell of any operators becomes: gather operands → product → pointwise → … → scatter and push.
// Addresses of planes and constants are final; scratch is each queue's own.
struct CellPlan {
  struct Step {
    enum class Kind : std::uint8_t { kStage, kProduct, kConvolution, kArgmax };
    Kind kind = Kind::kStage;
    std::uint32_t index = 0;  // of the list of its kind
  };
  std::vector<Step> steps;
  std::vector<StagePlan> stages;
  std::vector<ProductPlan> products;
  std::vector<ConvolutionPlan> convolutions;
  std::vector<ArgmaxPlan> argmaxes;
  std::vector<Program> programs;
  std::vector<Instruction> instructions;
  std::uint64_t scratch_bytes = 0;
  double flops_per_row = 0;
};

class PlanLeaves;
// Errors name the cell and what is missing or not supported.
Result<CellPlan> plan_cell(PlanLeaves& leaves);

// Writes a number in the type that operands have in memory.
void write_operand(std::byte* to, ElementType type, float value);

// A weight [outputs, width of each term …] as the product reads it: [outputs][stride_k] in the precision.
std::vector<std::byte> pack_weights(std::span<const Tensor* const> terms, std::uint32_t outputs,
                                    std::uint32_t stride_k, Precision precision);

}  // namespace volvox::gpu
