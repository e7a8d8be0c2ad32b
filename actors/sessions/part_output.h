#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/work/work.h"
#include "cells/model/model.h"

namespace volvox {

// What a part of a session gave: kept until its client has shown that it has it, and answered again
// meanwhile. A compact copy, so that keeping it keeps neither the request nor device memory alive. Immutable.
struct PartOutput {
  std::shared_ptr<const Model> model;  // owns the tensors' names
  std::vector<std::uint64_t> storage;  // owns their bytes
  std::vector<WireTensor> tensors;
  std::uint32_t cells = 0;
  std::uint64_t queue_us = 0, compute_us = 0;

  std::uint64_t bytes() const { return storage.size() * sizeof storage[0] + sizeof *this; }
};

// Of a Work that is done. Takes what describes the outputs, not their bytes.
std::shared_ptr<const PartOutput> keep_output(const Work& work, Outcome&& outcome);

}  // namespace volvox
