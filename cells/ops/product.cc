#include <string>

#include "cells/ir/product_terms.h"
#include "cells/ops/check_terms.h"
#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Product {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto weights = row.weights();
    const std::size_t out_width = row.width(op.output);
    const std::size_t terms = product_term_count(op);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* start = op.has_start ? row.real(op.inputs[terms], e) : nullptr;
      Real* out = row.real(op.output, e);
      for (std::size_t j = 0; j < out_width; ++j) {
        Real sum = op.has_bias ? static_cast<Real>(weights[terms][j]) : start != nullptr ? start[j] : Real{0};
        for (std::size_t i = 0; i < terms; ++i) {
          const std::size_t n = row.width(op.inputs[i]);
          sum = row.math().chain(sum, weights[i] + j * n, row.real(op.inputs[i], e), n);
        }
        out[j] = sum;
      }
    }
  }
};

Status infer(Inference& at) {
  const Operator& op = at.op();
  const std::size_t terms = product_term_count(op);
  if (Status status = check_terms(at, terms); !status) return status;
  if (op.has_bias && op.has_start) return at.error("starts from a bias or from a value, not from both");
  const std::size_t weights = terms + (op.has_bias ? 1 : 0);
  if (Status status = at.arity(terms + (op.has_start ? 1 : 0), weights); !status) return status;
  std::int64_t width = 0;
  if (Status status = at.declared_width(0, 0, width); !status) return status;
  bool ragged = false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (Status status = at.want_vector(i); !status) return status;
    ragged = ragged || at.in(i).ragged;
  }
  for (std::size_t i = 0; i < terms; ++i) {
    if (Status status = at.weight(i, {width, at.in(i).shape[0]}); !status) return status;
  }
  if (op.has_bias) {
    if (Status status = at.weight(terms, {width}); !status) return status;
  }
  if (op.has_start && at.in(terms).shape[0] != width) {
    return at.error("its start has " + std::to_string(at.in(terms).shape[0]) + " elements, needs " +
                    std::to_string(width));
  }
  return at.produce({DType::kF32, {width}, ragged});
}

}  // namespace

constinit const OpDef kProductOp = computed_op<Product>(
    "product", OpDef::kAny, OpDef::kAny, infer,
    "(x, …, start) -> start + W·x + …: vectors times weights, ONE chain for each element");

}  // namespace volvox
