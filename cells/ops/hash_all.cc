#include "cells/ir/check_hash.h"
#include "cells/ops/define.h"

namespace volvox {
namespace {

struct HashAll {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto token =
        static_cast<std::uint64_t>(row.template integer<std::int32_t>(op.inputs[1]));  // sign extended
    std::uint64_t state = check_hash(0, token);
    for (std::uint32_t e = 0; e < row.edges(); ++e)
      state = check_hash(state, row.template integer<std::uint64_t>(op.inputs[0], e));
    row.set_integer(op.output, state);
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kU64, true); !status) return status;
  if (Status status = at.want_ragged(0); !status) return status;
  return at.produce_hash();
}

}  // namespace

constinit const OpDef kHashAllOp =
    folding_op<HashAll>("hash_all", 2, infer, "(ragged u64, token i32) -> u64, all mixed in their order");

}  // namespace volvox
