#pragma once

#include <cstdint>

#include "cells/ir/bounds.h"

namespace volvox::gpu {

// What host and device tell each other, as flat structs. Addresses are 64-bit numbers.

// RowBinding (device/task.h) as the device keeps it: one row of a cohort's table.
struct RowRecord {
  struct State {
    std::uint32_t base, ring;
    std::int32_t offset, stride;
    std::uint32_t initial;
    std::int32_t step;
  };
  State gathers[kMaxGathers];
  std::uint32_t out_base, out_ring, length;
  std::int32_t out_step;
  std::uint32_t first_row;  // listed tasks: the first row of this binding
  std::uint64_t start;
  std::uint64_t pull_address[kMaxPulls], push_address[kMaxPushes];
  std::int32_t pull_stride[kMaxPulls], push_stride[kMaxPushes];
};

// A result that one row writes in this task only. Each row has two places for such results of each push.
inline constexpr std::uint32_t kTargets = 3;  // the row's own, then those of emits
struct EmitRecord {
  std::uint32_t row, push;
  std::uint32_t target;  // 1 or 2: which place
  std::uint32_t unused;
  std::uint64_t address;
};

inline constexpr std::uint32_t kListedTask = ~std::uint32_t{0};

// A task as the device reads it. A graph's pointers never change, so what changes is this: an entry of a ring
// in the device's memory, or, of a direct task, a parameter. What it points to lies beside it in the payload
// ring.
struct TaskHeader {
  std::uint64_t seq, step;
  std::uint32_t rows;          // real ones
  std::uint32_t cohort;        // kListedTask: the records are the task's rows
  std::uint32_t record_count;  // cohorts: rows that change
  std::uint32_t emit_count;
  std::uint32_t edges;  // ragged predecessors of all rows
  std::uint32_t unused;
  std::uint64_t records;      // RowRecord each
  std::uint64_t record_rows;  // cohorts: the row that each record is for, uint32 each
  std::uint64_t emits;        // EmitRecord each
  std::uint64_t edge_begin;   // row r has the edges edge_begin[r] … edge_begin[r + 1], uint32 each
  std::uint64_t edge_slots;   // by edge: the slot it reads
  std::uint64_t edge_rows;    // by edge: its row
};

// What a step's blocks come to together when they have written all they write: QueueState::written. More of
// them than that there cannot be.
inline constexpr std::uint64_t kWhole = 1U << 20;

// What a queue's kernels keep from one to the next.
struct QueueState {
  std::uint64_t head;  // tasks of the ring that are finished: which header is the next
  std::uint64_t
      started_ns[2];  // of direct tasks in turn, for one may begin before the one ahead has told its time
  std::uint64_t kernel_ns;
  std::uint64_t failed;    // as Completion: reading that would cross the bus
  std::uint64_t resolved;  // the turn of the last direct task whose rows are found
  std::uint64_t written;  // kWhole for each direct task whose step has ended: a share from each of its blocks
  std::uint64_t published;    // the turn of the last direct task whose end the host was told
  std::uint32_t blocks_done;  // of the kernel that ends the task
  std::uint32_t unused;
};

// What the host watches, in its own memory: written by the device alone.
struct Completion {
  std::uint64_t done;       // every task up to this one is done
  std::uint64_t failed;     // the first task that named what is not there; 0: none
  std::uint64_t kernel_ns;  // time from first to last kernel, of direct tasks of their step, all so far
};

// Most places whose rows are found for a kernel before it runs.
inline constexpr std::uint32_t kMaxSources = 6;

// The rows of the running task, as kernels read them: arrays with an entry for each row, padding included.
struct RowView {
  std::uint64_t gathers[kMaxGathers];  // uint32: the slot it reads
  std::uint64_t pulls[kMaxPulls];      // uint64: address of its input; 0: zeros
  std::uint64_t out;                   // uint32: the slot it writes
  std::uint64_t pushes[kMaxPushes];    // kTargets uint64: where its result goes; 0: nowhere
  std::uint64_t wanted;                // uint32: bit p says that push p goes anywhere
  std::uint64_t sources[kMaxSources];  // uint64: address of what the kernel reads there; 0: zeros
};

// What every kernel of a queue knows.
struct QueueView {
  std::uint64_t headers;  // ring of TaskHeader
  std::uint64_t header_mask;
  std::uint64_t state;       // QueueState
  std::uint64_t completion;  // Completion
};

}  // namespace volvox::gpu
