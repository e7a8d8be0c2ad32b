#pragma once

#include <string>
#include <vector>

#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "gpu/program/gpu_cell.h"
#include "tests/unit/gpu/fake_driver.h"

// Stages as they are written for the device's compiler, compiled by the host's: every thread of every block
// runs, and the results have the bits of programs that are interpreted.
namespace volvox::gpu {

struct StageCase {
  Cell cell;
  Weights weights;
  CellOptions options;
};

// A cell with operators alone, in each of these precisions.
void add_stage_cases(std::vector<StageCase>& cases, const Cell& cell, const Weights& weights);

// What a batch of the cell gives on a device whose stages are compiled so; and what runs them.
std::vector<float> run_stages(const StageCase& of, const FakeDriver::Compile& compile,
                              std::string* kernel = nullptr);

// Of each case, compiled and interpreted.
void expect_the_bits_of_programs(const std::vector<StageCase>& cases);

}  // namespace volvox::gpu
