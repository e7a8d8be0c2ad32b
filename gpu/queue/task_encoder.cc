#include "gpu/queue/task_encoder.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace volvox::gpu {
namespace {

constexpr std::size_t kAlign = 16;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}
template <class T>
std::size_t bytes_of(const std::vector<T>& values) {
  return aligned(values.size() * sizeof(T));
}

// Puts arrays one after the other.
class Writer {
 public:
  Writer(std::byte* host, std::uint64_t address) : host_(host), address_(address) {}
  template <class T>
  std::uint64_t put(const std::vector<T>& values) {
    if (values.empty()) return 0;
    std::memcpy(host_ + at_, values.data(), values.size() * sizeof(T));
    const std::uint64_t place = address_ + at_;
    at_ += bytes_of(values);
    return place;
  }

 private:
  std::byte* host_;
  std::uint64_t address_;
  std::size_t at_ = 0;
};

}  // namespace

RowRecord record_of(const RowBinding& binding, std::uint32_t first_row) {
  RowRecord record{};
  for (std::size_t g = 0; g < kMaxGathers; ++g) {
    const StateSource& from = binding.gathers[g];
    record.gathers[g] = {from.base, from.ring, from.offset, from.stride, from.initial, from.step};
  }
  for (std::size_t p = 0; p < kMaxPulls; ++p) {
    record.pull_address[p] = binding.pulls[p].address;
    record.pull_stride[p] = binding.pulls[p].stride_bytes;
  }
  for (std::size_t p = 0; p < kMaxPushes; ++p) {
    record.push_address[p] = binding.pushes[p].address;
    record.push_stride[p] = binding.pushes[p].stride_bytes;
  }
  record.out_base = binding.out_base;
  record.out_ring = binding.out_ring;
  record.out_step = binding.out_step;
  record.length = binding.length;
  record.start = binding.start;
  record.first_row = first_row;
  return record;
}

Status TaskEncoder::begin(const Task& task, const RowTables& tables, const RowShape& shape,
                          std::uint32_t padded_rows) {
  const bool cohort = task.form == Task::Form::kCohort;
  header_ = {};
  header_.seq = task.seq;
  header_.rows = task.rows;
  header_.step = task.step;
  header_.cohort = cohort ? task.cohort : kListedTask;
  for (auto* list : {&record_rows_, &first_rows_, &edge_begin_, &edge_slots_, &edge_rows_}) list->clear();
  records_.clear();
  emits_.clear();
  const auto rows = tables.rows(task);
  cohort ? add_changes(task, rows) : add_bindings(task);
  if (shape.ragged) {
    std::uint32_t row = 0;
    for (const RowBinding& binding : rows) {
      const std::uint32_t span = cohort ? 1 : binding.span;
      for (std::uint32_t i = 0; i < span; ++i) add_edges(task, binding, row++);
    }
    while (edge_begin_.size() <= padded_rows) edge_begin_.push_back(edges());
  }
  return add_emits(task);
}

void TaskEncoder::add_changes(const Task& task, std::span<const RowBinding> rows) {
  for (const RowChange& change : task.changes) {
    if (change.row < task.rows) record_rows_.push_back(change.row);
  }
  std::sort(record_rows_.begin(), record_rows_.end());
  record_rows_.erase(std::unique(record_rows_.begin(), record_rows_.end()), record_rows_.end());
  for (std::uint32_t row : record_rows_) records_.push_back(record_of(rows[row], 0));
}

void TaskEncoder::add_bindings(const Task& task) {
  std::uint32_t row = 0;
  for (const RowBinding& binding : task.bindings) {
    first_rows_.push_back(row);
    if (binding.span > 0) records_.push_back(record_of(binding, row));
    row += binding.span;
  }
}

Status TaskEncoder::add_emits(const Task& task) {
  for (const Emit& emit : task.emits) {
    if (emit.address == 0) continue;
    const std::uint32_t row = first_rows_.empty() ? emit.row : first_rows_[emit.row];
    emits_.push_back({row, emit.push, 1, 0, emit.address});
  }
  std::stable_sort(emits_.begin(), emits_.end(), [](const EmitRecord& a, const EmitRecord& b) {
    return a.row != b.row ? a.row < b.row : a.push < b.push;
  });
  for (std::size_t i = 1; i < emits_.size(); ++i) {
    if (emits_[i].row != emits_[i - 1].row || emits_[i].push != emits_[i - 1].push) continue;
    emits_[i].target = emits_[i - 1].target + 1;
    if (emits_[i].target >= kTargets) {
      return invalid("task " + std::to_string(task.seq) + ": one row's result is wanted in too many places");
    }
  }
  return {};
}

void TaskEncoder::add_edges(const Task& task, const RowBinding& binding, std::uint32_t row) {
  edge_begin_.push_back(edges());
  const RaggedSource& from = binding.ragged;
  for (std::uint32_t i = from.begin; i < from.begin + from.count; ++i) {
    edge_slots_.push_back(from.listed ? task.edges[i] : i);
    edge_rows_.push_back(row);
  }
}

bool TaskEncoder::slots_below(std::uint32_t slots) const {
  return std::all_of(edge_slots_.begin(), edge_slots_.end(),
                     [&](std::uint32_t slot) { return slot < slots; });
}

std::size_t TaskEncoder::payload_bytes() const {
  return bytes_of(records_) + bytes_of(record_rows_) + bytes_of(emits_) + bytes_of(edge_begin_) +
         bytes_of(edge_slots_) + bytes_of(edge_rows_);
}

TaskHeader TaskEncoder::write(std::byte* host, std::uint64_t address) const {
  Writer writer(host, address);
  TaskHeader header = header_;
  header.record_count = static_cast<std::uint32_t>(records_.size());
  header.emit_count = static_cast<std::uint32_t>(emits_.size());
  header.edges = edges();
  header.records = writer.put(records_);
  header.record_rows = writer.put(record_rows_);
  header.emits = writer.put(emits_);
  header.edge_begin = writer.put(edge_begin_);
  header.edge_slots = writer.put(edge_slots_);
  header.edge_rows = writer.put(edge_rows_);
  return header;
}

}  // namespace volvox::gpu
