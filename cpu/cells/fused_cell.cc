#include "cpu/cells/fused_cell.h"

#include <cstring>
#include <utility>

#include "cpu/cells/packing.h"
#include "device/host_memory.h"

namespace volvox::cpu {

Result<std::unique_ptr<CpuCell>> FusedCell::make(const Cell& cell, const FusedPattern& pattern,
                                                 const Weights& weights, const CompileOptions& options,
                                                 PoolFinder& pools) {
  const ColumnOrder order = pattern.lstm ? ColumnOrder::kGates : ColumnOrder::kPlain;
  auto product = pack_product(cell, *pattern.product, weights, order);
  if (!product) return tl::unexpected(product.error());
  std::unique_ptr<FusedCell> made(new FusedCell(cell, std::move(*product)));
  if (Status ok = made->find_states(cell, pattern, weights, options, pools); !ok)
    return tl::unexpected(ok.error());
  return made;
}

Status FusedCell::find_states(const Cell& cell, const FusedPattern& pattern, const Weights& weights,
                              const CompileOptions& options, PoolFinder& pools) {
  const auto source = [&](ValueId value) { return RowSource::make(cell, value, weights, options, pools); };
  lstm_ = pattern.lstm;
  pushes_ = pattern.pushes;
  for (ValueId value : product_terms(*pattern.product)) {
    auto term = source(value);
    if (!term) return tl::unexpected(term.error());
    terms_.push_back(std::move(*term));
    widths_.push_back(static_cast<std::size_t>(elements(cell.values[value].shape)));
  }
  const ValueId wanted[] = {product_start(*pattern.product), pattern.c_in};
  std::optional<RowSource>* const slots[] = {&start_, &c_in_};
  for (std::size_t i = 0; i < 2; ++i) {
    if (wanted[i] == kNoValue) continue;
    auto found = source(wanted[i]);
    if (!found) return tl::unexpected(found.error());
    *slots[i] = std::move(*found);
  }
  auto out = find_plane(cell, *pattern.out_scatter, options, pools);
  if (!out) return tl::unexpected(out.error());
  out_ = *out;
  if (!lstm_) return {};
  auto c_out = find_plane(cell, *pattern.c_scatter, options, pools);
  if (!c_out) return tl::unexpected(c_out.error());
  c_out_ = *c_out;
  return {};
}

Status FusedCell::resolve(const ResolvedRows& rows, Workspace& work) const {
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (Status ok = terms_[t].resolve(rows, work.terms[t]); !ok) return ok;
  }
  if (start_) {
    if (Status ok = start_->resolve(rows, work.start); !ok) return ok;
  }
  if (Status ok = resolve_out(rows, out_, work.out); !ok) return ok;
  if (!lstm_) return {};
  if (Status ok = c_in_->resolve(rows, work.c_in); !ok) return ok;
  return resolve_out(rows, c_out_, work.c_out);
}

Status FusedCell::run(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const {
  if (Status ok = resolve(rows, work); !ok) return ok;
  std::array<ProductTerm, kMaxTerms> terms;
  for (std::size_t t = 0; t < terms_.size(); ++t) terms[t] = {work.terms[t].data(), widths_[t]};
  ProductCall call;
  call.product = &product_;
  call.lstm = lstm_;
  call.rows = rows.real_rows;
  call.terms = terms.data();
  call.term_count = terms_.size();
  call.start = start_ ? work.start.data() : nullptr;
  call.c_in = work.c_in.data();
  call.c_out = work.c_out.data();
  (lstm_ ? call.h_out : call.out) = work.out.data();
  work.runner.run(team, call);
  push(rows, work);
  return {};
}

void FusedCell::push(const ResolvedRows& rows, const Workspace& work) const {
  for (const FusedPattern::Push& push : pushes_) {
    const auto& from = push.cell_state ? work.c_out : work.out;
    const std::size_t bytes = push.cell_state ? c_out_.row_bytes : out_.row_bytes;
    for (const ResolvedRows::Push& result : rows.pushes[push.index]) {
      if (result.row >= rows.real_rows) continue;
      std::memcpy(at_address(result.address), from[result.row], bytes);
    }
  }
}

}  // namespace volvox::cpu
