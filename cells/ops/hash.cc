#include "cells/ir/check_hash.h"
#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Hash {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto token =
        static_cast<std::uint64_t>(row.template integer<std::int32_t>(op.inputs[1]));  // sign extended
    row.set_integer(op.output, check_hash(row.template integer<std::uint64_t>(op.inputs[0]), token));
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kU64, false); !status) return status;
  return at.produce_hash();
}

}  // namespace

constinit const OpDef kHashOp = computed_op<Hash>(
    "hash", 2, 0, infer, "(state u64, token i32) -> u64, both mixed: for models that check their server");

}  // namespace volvox
