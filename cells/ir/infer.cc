#include "cells/ir/infer.h"

#include "cells/ir/inference.h"

namespace volvox {

Status infer(Cell& cell, const Weights* weights, std::string_view model) {
  return Inference(cell, weights, model).run();
}

}  // namespace volvox
