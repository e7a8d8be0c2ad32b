#pragma once

#include "gpu/kernels/place.h"

namespace volvox::gpu {

// The first kernel of a task: brings the cohort's row table up to date and turns the rows into slots and
// addresses for the kernels after it. One block; its threads go through records, rows and emits in turn, with
// a barrier between. That of a direct task does all this while the task before it still runs, except that it
// looks up no id which that task may write.
struct ResolveCall {
  QueueView queue;
  RowView view;
  std::uint64_t table;        // RowRecord: the rows of the type's cohort
  std::uint32_t padded_rows;  // of the task
  std::uint32_t gathers, pulls, pushes;
  std::uint32_t gather_slots[kMaxGathers];  // slots of the pool that each gather reads
  std::uint32_t out_slots;                  // of the pool that is written; 0: nothing is
  std::uint32_t direct;                     // 1: the task is described here, and not in the ring
  std::uint32_t source_count;
  Place sources[kMaxSources];              // what view.sources are the rows of; none is ragged
  std::uint64_t places;                    // of the cell: tables find their ids there
  std::uint64_t inputs_begin, inputs_end;  // what lies there is written by no task
  TaskHeader task;                         // of a direct task
  std::uint64_t turn;                      // of a direct task: FusedTask
  std::uint32_t chained;
};

VOLVOX_KERNEL_BODY const TaskHeader& current_task(const QueueView& queue) {
  return at<const TaskHeader>(queue.headers)[at<const QueueState>(queue.state)->head & queue.header_mask];
}

VOLVOX_KERNEL_BODY const TaskHeader& task_of(const ResolveCall& call) {
  return call.direct != 0 ? call.task : current_task(call.queue);
}

// A row names a slot that is not there: the task fails, and nothing outside the planes is touched.
VOLVOX_KERNEL_BODY void fault(const ResolveCall& call, std::uint64_t seq) {
  auto* state = at<QueueState>(call.queue.state);
  if (state->failed != 0) return;
  state->failed = seq;
  publish(&at<Completion>(call.queue.completion)->failed, seq);
}

// The task begins: its first kernel, or of a direct one its step. By one thread.
VOLVOX_KERNEL_BODY void begin_task(const QueueView& queue, std::uint64_t turn = 0) {
  at<QueueState>(queue.state)->started_ns[turn % 2] = device_clock_ns();
}

// Until all that the step ahead of a chained task writes is there.
VOLVOX_KERNEL_BODY void wait_for_step_before(const QueueView& queue, std::uint64_t turn) {
  wait_for_word(&at<QueueState>(queue.state)->written, (turn - 1) * kWhole);
}

// Record `i` of a cohort's changes.
VOLVOX_KERNEL_BODY void resolve_change(const ResolveCall& call, const TaskHeader& task, std::uint32_t i) {
  const std::uint64_t row = at<const std::uint32_t>(task.record_rows)[i];
  at<RowRecord>(call.table)[row] = at<const RowRecord>(task.records)[i];
}

// slot_in_turn (device/task.h).
VOLVOX_KERNEL_BODY std::uint32_t turn_slot(std::uint32_t base, std::uint32_t ring, std::int32_t step,
                                           std::uint32_t t) {
  return base + static_cast<std::uint32_t>(step) * (ring == 2 ? t & 1U : t % ring);
}

VOLVOX_KERNEL_BODY std::uint32_t slot_at(const RowRecord::State& from, std::uint32_t t) {
  const std::int64_t s = from.offset + static_cast<std::int64_t>(from.stride) * t;
  return s < 0 ? from.initial : turn_slot(from.base, from.ring, from.step, static_cast<std::uint32_t>(s));
}

VOLVOX_KERNEL_BODY std::uint64_t step_address(std::uint64_t base, std::int32_t stride, std::uint32_t t) {
  return base == 0 ? 0 : base + static_cast<std::uint64_t>(std::int64_t{stride} * t);
}

// The record of a real row, and its step: of a cohort's padding, that after the lane's last.
VOLVOX_KERNEL_BODY const RowRecord& record_of(const ResolveCall& call, const TaskHeader& task,
                                              std::uint32_t row, std::uint32_t& t) {
  if (task.cohort != kListedTask) {
    const RowRecord& record = at<const RowRecord>(call.table)[row];
    t = static_cast<std::uint32_t>(task.step - record.start);
    if (t > record.length) t = record.length;
    return record;
  }
  const auto* records = at<const RowRecord>(task.records);
  std::uint32_t first = 0, last = task.record_count - 1;  // the last record that begins at or before the row
  while (first < last) {
    const std::uint32_t middle = (first + last + 1) / 2;
    if (records[middle].first_row <= row) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  t = static_cast<std::uint32_t>(records[first].start) + (row - records[first].first_row);
  return records[first];
}

VOLVOX_KERNEL_BODY void resolve_padding(const ResolveCall& call, std::uint32_t row) {
  for (std::uint32_t g = 0; g < call.gathers; ++g)
    at<std::uint32_t>(call.view.gathers[g])[row] = kInitialSlot;
  for (std::uint32_t p = 0; p < call.pulls; ++p) at<std::uint64_t>(call.view.pulls[p])[row] = 0;
  at<std::uint32_t>(call.view.out)[row] = kSinkSlot;
  at<std::uint32_t>(call.view.wanted)[row] = 0;
}

VOLVOX_KERNEL_BODY void resolve_real(const ResolveCall& call, const TaskHeader& task, std::uint32_t row) {
  std::uint32_t t = 0;
  const RowRecord& record = record_of(call, task, row, t);
  const bool real = t < record.length;
  bool good = true;
  for (std::uint32_t g = 0; g < call.gathers; ++g) {
    const std::uint32_t slot = real ? slot_at(record.gathers[g], t) : kInitialSlot;
    const bool there = slot < call.gather_slots[g];
    at<std::uint32_t>(call.view.gathers[g])[row] = there ? slot : kInitialSlot;
    good = good && there;
  }
  for (std::uint32_t p = 0; p < call.pulls; ++p) {
    at<std::uint64_t>(call.view.pulls[p])[row] =
        real ? step_address(record.pull_address[p], record.pull_stride[p], t) : 0;
  }
  std::uint32_t wanted = 0;
  for (std::uint32_t p = 0; p < call.pushes; ++p) {
    const std::uint64_t to = real ? step_address(record.push_address[p], record.push_stride[p], t) : 0;
    at<std::uint64_t>(call.view.pushes[p])[std::uint64_t{row} * kTargets] = to;
    wanted |= std::uint32_t{to != 0} << p;
  }
  at<std::uint32_t>(call.view.wanted)[row] = wanted;
  const std::uint32_t out = turn_slot(record.out_base, record.out_ring, record.out_step, t);
  const bool there = call.out_slots == 0 || out < call.out_slots;
  at<std::uint32_t>(call.view.out)[row] = there ? out : kSinkSlot;
  if (!good || !there) fault(call, task.seq);
}

// Row `row` below padded_rows.
VOLVOX_KERNEL_BODY void resolve_row(const ResolveCall& call, const TaskHeader& task, std::uint32_t row) {
  for (std::uint32_t p = 0; p < call.pushes; ++p) {
    for (std::uint32_t i = 0; i < kTargets; ++i) {
      at<std::uint64_t>(call.view.pushes[p])[std::uint64_t{row} * kTargets + i] = 0;
    }
  }
  if (row < task.rows) {
    resolve_real(call, task, row);
  } else {
    resolve_padding(call, row);
  }
}

// Whether a source can be told while the task before this one runs: its address is that of a slot or an
// input, or of the row of a table which an input names.
VOLVOX_KERNEL_BODY bool is_known_early(const ResolveCall& call, const Place& source, const Element& e) {
  if (source.kind != Place::Kind::kTable) return true;
  const Place& id = at<const Place>(call.places)[source.id];
  if (id.kind != Place::Kind::kInput) return false;
  const std::uint64_t from = row_address(id, e);
  return from == 0 || (from >= call.inputs_begin && from < call.inputs_end);
}

// Those of the row's sources that are known early, or those that are not. Whether there were others.
VOLVOX_KERNEL_BODY bool resolve_sources(const ResolveCall& call, const TaskHeader& task, std::uint32_t row,
                                        bool early) {
  const Element e{&call.view, &task, call.places, 0, row, 0, 0};
  bool others = false;
  for (std::uint32_t s = 0; s < call.source_count; ++s) {
    const Place& place = call.sources[s];
    if (is_known_early(call, place, e) != early) {
      others = true;
      continue;
    }
    const std::uint64_t from = source_address(place, e);
    at<std::uint64_t>(call.view.sources[s])[row] =
        from == 0 ? 0 : from + std::uint64_t{place.offset} * element_bytes(place.type);
  }
  return others;
}

VOLVOX_KERNEL_BODY void resolve_emit(const ResolveCall& call, const TaskHeader& task, std::uint32_t i) {
  const EmitRecord& emit = at<const EmitRecord>(task.emits)[i];
  if (emit.push >= call.pushes) return;
  at<std::uint64_t>(call.view.pushes[emit.push])[std::uint64_t{emit.row} * kTargets + emit.target] =
      emit.address;
  add_bits(at<std::uint32_t>(call.view.wanted) + emit.row, std::uint32_t{1} << emit.push);
}

// What it takes to end a task, as it stands once its rows are resolved.
struct Ending {
  std::uint64_t seq = 0, failed = 0;
};
// `direct_seq`: the number of a direct task; 0: the task is the ring's next.
VOLVOX_KERNEL_BODY Ending ending_of(const QueueView& queue, std::uint64_t direct_seq = 0) {
  return {direct_seq != 0 ? direct_seq : current_task(queue).seq, at<const QueueState>(queue.state)->failed};
}

// Tells the host that a task has ended. `turn`: of a direct one.
VOLVOX_KERNEL_BODY void publish_end(const QueueView& queue, const Ending& ending, std::uint64_t turn = 0) {
  auto* state = at<QueueState>(queue.state);
  auto* completion = at<Completion>(queue.completion);
  const std::uint64_t started_ns = newest(&state->started_ns[turn % 2]);
  const std::uint64_t took_ns = device_clock_ns() - started_ns;
  const std::uint64_t kernel_ns = add_to(&state->kernel_ns, took_ns);
  // The rows of the task after this one may have been found to be wrong already.
  if (ending.failed == 0 || ending.seq < ending.failed) publish(&completion->done, ending.seq);
  // A sum that nobody waits for: a fence before it would wait for the word above to reach the host.
  announce(&completion->kernel_ns, kernel_ns);
}

// The end of a task of the ring, by one thread, once all others are done: the next header, and the word to
// the host.
VOLVOX_KERNEL_BODY void finish_task(const QueueView& queue, const Ending& ending) {
  ++at<QueueState>(queue.state)->head;
  publish_end(queue, ending);
}

// The share of one of `blocks` blocks in kWhole.
VOLVOX_KERNEL_BODY std::uint64_t share_of(bool first, std::uint32_t blocks) {
  const std::uint64_t each = kWhole / blocks;
  return first ? kWhole - (blocks - 1) * each : each;
}

// The end of a direct task, by one thread, once all its blocks have written: the step behind it goes on
// already, but words to the host keep the order of their tasks.
VOLVOX_KERNEL_BODY void finish_direct(const QueueView& queue, const Ending& ending, std::uint64_t turn,
                                      bool chained) {
  auto* state = at<QueueState>(queue.state);
  if (chained) wait_for_word(&state->published, turn - 1);
  publish_end(queue, ending, turn);
  hand_over(&state->published, turn);
}

}  // namespace volvox::gpu
