#include "cpu/fold_rows.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cpu/packed_product.h"
#include "cpu/product_runner.h"
#include "cpu/team/thread_team.h"

namespace volvox::cpu {
namespace {

// Rows of one call: enough that the weights are read seldom, and that every thread has units.
constexpr std::int64_t kRowsAtOnce = 3072;

Result<PackedProduct> pack(const FoldedTable& table, std::size_t lanes) {
  std::vector<WeightTerm> weights;
  for (const FoldedTable::Term& term : table.terms)
    weights.push_back({term.weight, static_cast<std::size_t>(term.operand)});
  return PackedProduct::make(weights, table.bias, static_cast<std::size_t>(table.width), kPlain, lanes);
}

}  // namespace

Status fold_rows(const Kernels& kernels, std::uint32_t threads, const FoldedTable& table, float* out) {
  const auto product = pack(table, kernels.lanes);
  if (!product) return tl::unexpected(product.error());
  ThreadTeam team(threads);
  auto runner = ProductRunner::make(team.size());
  if (!runner) return tl::unexpected(runner.error());
  std::vector<std::vector<const float*>> operands(table.terms.size());
  std::vector<ProductTerm> terms(table.terms.size());
  std::vector<float*> rows;
  for (std::int64_t first = 0; first < table.ids; first += kRowsAtOnce) {
    const std::int64_t last = std::min(first + kRowsAtOnce, table.ids);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const FoldedTable::Term& term = table.terms[t];
      operands[t].clear();
      for (std::int64_t id = first; id < last; ++id) operands[t].push_back(term.rows + id * term.operand);
      terms[t] = {operands[t].data(), static_cast<std::size_t>(term.operand)};
    }
    rows.clear();
    for (std::int64_t id = first; id < last; ++id) rows.push_back(out + id * table.width);
    ProductCall call;
    call.product = &*product;
    call.kernel = kernels.product;
    call.rows = rows.size();
    call.terms = terms.data();
    call.term_count = terms.size();
    call.out[0] = rows.data();
    runner->run(team, call);
  }
  return {};
}

}  // namespace volvox::cpu
