#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "actors/work/work.h"
#include "cells/model/model.h"

namespace volvox {

// What a part of a session gave: kept until its client has shown that it has it, and answered again
// meanwhile. A compact copy in one piece, so that keeping it keeps neither the request nor device memory
// alive. Immutable.
struct PartOutput {
  std::shared_ptr<const Model> model;   // owns the tensors' names
  std::span<const WireTensor> tensors;  // behind this, as their bytes
  std::uint64_t bytes = 0;              // of all of it
  std::uint32_t cells = 0;
  std::uint64_t queue_us = 0, compute_us = 0;
};

// Of a Work that is done; `figures`: how, but for its outputs.
std::shared_ptr<const PartOutput> keep_output(Work& work, const Outcome& figures);

}  // namespace volvox
