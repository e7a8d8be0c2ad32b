#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/row_table.h"
#include "device/task.h"
#include "gpu/kernels/layout.h"

namespace volvox::gpu {

// Turns tasks into what the device reads. For a cohort only the rows that change travel: each once, as it is
// after all changes of the task, whatever was moved where in between. So no row of the device's table is read
// while another is written, and one copy of the table is enough.
//
// Keeps its memory from task to task; called by one thread. The task must have been applied to the tables.
class TaskEncoder {
 public:
  // Looks at the task. Fails on more than two emits for one result of one row.
  Status begin(const Task& task, const RowTables& tables, const RowShape& shape, std::uint32_t padded_rows);

  std::uint32_t edges() const { return static_cast<std::uint32_t>(edge_slots_.size()); }
  bool slots_below(std::uint32_t slots) const;  // every edge's
  std::size_t payload_bytes() const;
  // Writes payload_bytes() to `host`, which the device will see at `address`.
  TaskHeader write(std::byte* host, std::uint64_t address) const;

 private:
  void add_changes(const Task& task, std::span<const RowBinding> rows);
  void add_bindings(const Task& task);
  Status add_emits(const Task& task);
  void add_edges(const Task& task, const RowBinding& binding, std::uint32_t row);

  TaskHeader header_{};
  std::vector<RowRecord> records_;
  std::vector<std::uint32_t> record_rows_;
  std::vector<EmitRecord> emits_;
  std::vector<std::uint32_t> first_rows_;
  std::vector<std::uint32_t> edge_begin_, edge_slots_, edge_rows_;
};

RowRecord record_of(const RowBinding& binding, std::uint32_t first_row);

}  // namespace volvox::gpu
