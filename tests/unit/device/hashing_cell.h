#pragma once

#include "cells/ir/cell_builder.h"

namespace volvox {

// A state that hashes the row's token, and then those of a list of predecessors.
inline Cell hashing_cell() {
  CellBuilder b("hashing");
  b.state({.name = "state", .shape = {}, .dtype = DType::kU64});
  const ValueId state = b.hash_all(b.gather_all("state"), b.pull("token", DType::kI32));
  b.scatter("state", state);
  b.push("state", state);
  return b.build().value();
}

}  // namespace volvox
