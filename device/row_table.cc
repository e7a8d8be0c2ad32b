#include "device/row_table.h"

#include <algorithm>
#include <string>

namespace volvox {
namespace {

// Fills the arrays row by row, in one pass over the bindings.
class Resolver {
 public:
  Resolver(const Task& task, const RowShape& shape, ResolvedRows& out)
      : task_(task), shape_(shape), out_(out) {
    const std::uint32_t padded = std::max(task.rows, task.padded_rows);
    out.rows = padded;
    for (std::uint32_t g = 0; g < shape.gathers; ++g) {
      if (out.gathers[g].size() < padded) out.gathers[g].resize(padded);
    }
    for (std::uint32_t p = 0; p < shape.pulls; ++p) {
      if (out.pulls[p].size() < padded) out.pulls[p].resize(padded);
    }
    for (auto& pushes : out.pushes) pushes.clear();
    if (out.out.size() < padded) out.out.resize(padded);
    out.ragged_begin.clear();
    out.ragged_slots.clear();
  }

  void place(const RowBinding& b, std::uint32_t t) {
    const std::uint32_t r = row_++;
    const bool real = t < b.length;
    for (std::uint32_t g = 0; g < shape_.gathers; ++g) {
      out_.gathers[g][r] = real ? b.gathers[g].slot(t) : kInitialSlot;
    }
    for (std::uint32_t p = 0; p < shape_.pulls; ++p) {
      out_.pulls[p][r] = real ? at(b.pulls[p].address, b.pulls[p].stride_bytes, t) : 0;
    }
    out_.out[r] = b.out_slot(t);
    for (std::uint32_t p = 0; p < shape_.pushes; ++p) {
      const DeviceAddress address = at(b.pushes[p].address, b.pushes[p].stride_bytes, t);
      if (real && address != 0) out_.pushes[p].push_back({r, address});
    }
    if (shape_.ragged) place_ragged(b.ragged);
  }

  void emit(std::uint32_t row, const Emit& e) {
    if (e.push < shape_.pushes && e.address != 0) out_.pushes[e.push].push_back({row, e.address});
  }

  void finish() {
    out_.real_rows = row_;
    for (std::uint32_t r = row_; r < out_.rows; ++r) {
      for (std::uint32_t g = 0; g < shape_.gathers; ++g) out_.gathers[g][r] = kInitialSlot;
      for (std::uint32_t p = 0; p < shape_.pulls; ++p) out_.pulls[p][r] = 0;
      out_.out[r] = kSinkSlot;
      if (shape_.ragged) place_ragged({});
    }
    if (shape_.ragged) out_.ragged_begin.push_back(static_cast<std::uint32_t>(out_.ragged_slots.size()));
  }

 private:
  static DeviceAddress at(DeviceAddress address, std::int32_t stride_bytes, std::uint32_t t) {
    return address == 0 ? 0 : address + static_cast<DeviceAddress>(std::int64_t{stride_bytes} * t);
  }

  void place_ragged(const RaggedSource& source) {
    out_.ragged_begin.push_back(static_cast<std::uint32_t>(out_.ragged_slots.size()));
    for (std::uint32_t i = source.begin; i < source.begin + source.count; ++i) {
      out_.ragged_slots.push_back(source.listed ? task_.edges[i] : i);
    }
  }

  const Task& task_;
  const RowShape shape_;
  ResolvedRows& out_;
  std::uint32_t row_ = 0;
};

Status bad(const Task& task, const std::string& what) {
  return invalid("task " + std::to_string(task.seq) + " of type " + std::to_string(task.type) + ": " + what);
}

Status change_row(const Task& task, const RowChange& change, std::uint32_t max_rows,
                  std::vector<RowBinding>& rows) {
  if (change.row >= max_rows)
    return bad(task, "row " + std::to_string(change.row) + " is past the cohort's bound");
  const bool bind = change.from == RowChange::kBind;
  if (bind && change.binding >= task.bindings.size())
    return bad(task, "a change names a binding that is not there");
  if (!bind && change.from >= rows.size()) return bad(task, "a change copies a row that is not there");
  if (change.row >= rows.size()) {
    RowBinding unbound;
    unbound.span = 0;
    rows.resize(change.row + 1, unbound);
  }
  rows[change.row] = bind ? task.bindings[change.binding] : rows[change.from];
  return {};
}

Status check_listed(const Task& task) {
  std::uint64_t rows = 0;
  for (const RowBinding& b : task.bindings) {
    rows += b.span;
    const std::uint64_t end = std::uint64_t{b.ragged.begin} + b.ragged.count;
    if (b.ragged.listed && end > task.edges.size()) return bad(task, "a row names edges that are not there");
  }
  if (rows != task.rows) return bad(task, "its bindings do not add up to its rows");
  return {};
}

Status check_emits(const Task& task) {
  const std::size_t rows = task.form == Task::Form::kCohort ? task.rows : task.bindings.size();
  const bool inside =
      std::all_of(task.emits.begin(), task.emits.end(), [&](const Emit& e) { return e.row < rows; });
  if (!inside) return bad(task, "a result is wanted of a row that is not there");
  return {};
}

}  // namespace

RowShape row_shape(const Cell& cell) {
  return {cell.gathers, cell.pulls, cell.pushes, cell.gathers_all};
}

RowTables::RowTables(std::uint32_t max_cohorts, std::uint32_t max_rows)
    : max_rows_(max_rows), cohorts_(max_cohorts) {}

Status RowTables::apply(const Task& task) {
  if (Status ok = check_emits(task); !ok) return ok;
  if (task.form == Task::Form::kListed) return check_listed(task);
  if (task.cohort >= cohorts_.size()) return bad(task, "no cohort " + std::to_string(task.cohort));
  auto& rows = cohorts_[task.cohort];
  const std::size_t before = rows.size();
  for (const RowChange& change : task.changes) {
    if (Status ok = change_row(task, change, max_rows_, rows); !ok) return ok;
  }
  const auto unbound = [](const RowBinding& b) { return b.span == 0; };
  if (rows.size() < task.rows ||
      std::any_of(rows.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(before, task.rows)),
                  rows.begin() + task.rows, unbound)) {
    return bad(task, "the cohort has rows that were never bound");
  }
  rows.resize(task.rows);
  return {};
}

std::span<const RowBinding> RowTables::rows(const Task& task) const {
  if (task.form == Task::Form::kListed) return task.bindings;
  return std::span<const RowBinding>(cohorts_[task.cohort]).first(task.rows);
}

void RowTables::resolve(const Task& task, const RowShape& shape, ResolvedRows& out) const {
  Resolver resolver(task, shape, out);
  if (task.form == Task::Form::kCohort) {
    for (const RowBinding& b : rows(task)) {
      resolver.place(b, std::min(static_cast<std::uint32_t>(task.step - b.start), b.length));
    }
    for (const Emit& e : task.emits) resolver.emit(e.row, e);
  } else {
    std::vector<std::uint32_t>& first = out.first_row;
    first.clear();
    std::uint32_t row = 0;
    for (const RowBinding& b : task.bindings) {
      first.push_back(row);
      row += b.span;
      const auto t = static_cast<std::uint32_t>(b.start);
      for (std::uint32_t i = 0; i < b.span; ++i) resolver.place(b, t + i);
    }
    for (const Emit& e : task.emits) resolver.emit(first[e.row], e);
  }
  resolver.finish();
}

}  // namespace volvox
