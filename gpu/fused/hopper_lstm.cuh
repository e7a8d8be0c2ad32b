#pragma once

#include <cstdint>

// nvcc, or a test that stands in for it and for what only the device has.
#if defined(__CUDACC__)
#include "gpu/cuda/hopper.cuh"
#endif

#include "gpu/cuda/finish.cuh"
#include "gpu/fused/hopper_tile.h"
#include "gpu/fused/lstm_step.h"

// One step of an LSTM as one kernel, for GPUs of compute capability 9.0. Each of a block's four warpgroups
// has one thing to do, for what one instruction more of a slab costs shows in the whole: one brings weights,
// as whole slabs by the copy engine; one brings rows, vector by vector from wherever they lie; two multiply
// them (wgmma) and update the units whose gates they have. Sums begin with what a row starts from (a bias, or
// a row of a table), and old states are on the way while products are computed. Weights depend on no task,
// and are fetched before the kernel ahead of this one has ended (programmatic dependent launch). Where small
// tiles fill the GPU, what limits them is what the second cache gives: blocks of the same units, a cut's
// mates, bring the weights for each other (multicast).
namespace volvox::gpu::hopper {

inline constexpr unsigned kWarpgroup = 128;
// Warpgroups by number: rows, products (two), weights.
inline constexpr unsigned kConsumers = 2 * kWarpgroup, kThreads = kConsumers + 2 * kWarpgroup;

// Where those that bring and those that multiply meet.
template <unsigned kRows, unsigned kStages>
struct Meeting {
  std::uint64_t full[kStages], empty[kStages];
  std::uint64_t rows[kLstmTerms + 2][kRows];  // addresses of the sources
};

// A cut (hopper_tile.h) at compile time, and what follows from it.
template <unsigned kTileRows, unsigned kBlocks, unsigned kNeighbours = 1>
struct Shape {
  static constexpr unsigned kRows = kTileRows, kSplit = kBlocks, kMates = kNeighbours;
  static constexpr unsigned kStageBytes = kSlabBytes + kRows * kRowBytes;
  static constexpr unsigned kStages = (kRows == 128 ? 6 : 8) - (kSplit == 1 ? 0 : 1);
  // A multiplying warpgroup has 64 rows by so many columns: either rows are shared among the two, or columns.
  static constexpr unsigned kColumnsEach = kRows == 128 ? 128 : 64, kSums = kColumnsEach / 2;
  static constexpr unsigned kParts = kColumnsEach / 64;  // of a thread: four units each
  // Of a split sum each of the two blocks finishes one of a thread's two rows.
  static constexpr unsigned kHalves = 2 / kSplit, kShare = kSums / kSplit;
  using Meeting = hopper::Meeting<kRows, kStages>;
  // In dynamic shared memory, whose begin is aligned by hand to what the swizzle asks: the stages, then the
  // sums that come from the other block.
  static constexpr unsigned kExchangeBytes = (kSplit - 1) * kShare * kConsumers * 4;
  static constexpr unsigned kSharedBytes = kStages * kStageBytes + kExchangeBytes + 1024;
  static_assert((kRows == 64 || kRows == 128) && (kSplit == 1 || kSplit == 2));
  static_assert(kSplit == 1 || kMates == 1, "a cluster is one or the other");
  // Warps that must have read a stage before it is written: mates bring weights for each other.
  static constexpr unsigned kReaders = kMates * kConsumers / 32;
};

__device__ inline float fast_sigmoid(float x) {
  return fmaf(fast_tanh(0.5F * x), 0.5F, 0.5F);
}

// Which of the tile's and the task's rows this thread updates, and of the cell's units the first of each
// four.
template <class S>
struct Mine {
  unsigned place[S::kHalves], row[S::kHalves], unit[S::kParts];

  __device__ Mine() {
    const unsigned me = threadIdx.x - kWarpgroup, group = me / kWarpgroup, lane = me % 32;
    const unsigned first_row = S::kRows == 128 ? group * 64 : 0;
    const unsigned first_unit = blockIdx.x * kUnits + (S::kRows == 128 ? 0 : group * 16);
    for (unsigned h = 0; h < S::kHalves; ++h) {
      const unsigned half = S::kSplit == 1 ? h : blockIdx.z;
      place[h] = first_row + me % kWarpgroup / 32 * 16 + lane / 4 + 8 * half;
      row[h] = blockIdx.y * S::kRows + place[h];
    }
    for (unsigned p = 0; p < S::kParts; ++p) unit[p] = first_unit + unit_of(p, lane % 4, 0);
  }
};

// The old states of rows, on their way while the products are computed, and where the new ones go.
template <class S>
struct Old {
  float c[S::kHalves][S::kParts][4];
  std::uint32_t out[S::kHalves], wanted[S::kHalves];

  // Rows past the last read zeros, and write nothing.
  __device__ void load(const LstmCall& call, const Mine<S>& mine, const typename S::Meeting& meeting) {
    const RowView& view = call.task.view;
    std::uint64_t c_row[S::kHalves];
    VOLVOX_UNROLL
    for (unsigned h = 0; h < S::kHalves; ++h) {
      const unsigned row = min(mine.row[h], call.task.rows - 1);
      c_row[h] = meeting.rows[call.term_count][mine.place[h]];
      out[h] = at<const std::uint32_t>(view.out)[row];
      wanted[h] = at<const std::uint32_t>(view.wanted)[row];
    }
    VOLVOX_UNROLL
    for (unsigned h = 0; h < S::kHalves; ++h) {
      VOLVOX_UNROLL
      for (unsigned p = 0; p < S::kParts; ++p) {
        load_four(c[h][p], c_row[h], std::uint64_t{mine.unit[p]} * 4);
      }
    }
  }
};

// What the sums of a row's gates begin with. Of a split sum one block has it.
template <class S>
__device__ void load_starts(const LstmCall& call, const Mine<S>& mine, const typename S::Meeting& meeting,
                            float (&sums)[S::kSums]) {
  VOLVOX_UNROLL
  for (unsigned h = 0; h < S::kHalves; ++h) {
    const std::uint64_t from = meeting.rows[call.term_count + 1][mine.place[h]];
    VOLVOX_UNROLL
    for (unsigned p = 0; p < S::kParts; ++p) {
      VOLVOX_UNROLL
      for (unsigned g = 0; g < 4; ++g) {
        float start[4];
        load_four(start, from, std::uint64_t{g * call.units + mine.unit[p]} * 4);
        VOLVOX_UNROLL
        for (unsigned u = 0; u < 4; ++u) {
          const unsigned i = 4 * (p * 8 + 2 * u + g / 2) + g % 2;
          if constexpr (S::kSplit == 1) {
            sums[i + 2 * h] = start[u];
          } else {
            sums[i] = blockIdx.z == 0 ? start[u] : 0;
            sums[i + 2] = blockIdx.z == 0 ? 0 : start[u];
          }
        }
      }
    }
  }
}

template <class T>
__device__ void store_state(const Place& place, std::uint64_t row, unsigned unit, const float (&x)[4]) {
  store_four(row + std::uint64_t{place.offset + unit} * 4, x);
  if (place.shadow == 0) return;
  store_narrow<T>(row + place.shadow + std::uint64_t{place.offset + unit} * 2, x);
}

// Where a row's result is wanted as well.
__device__ inline void push(const LstmCall& call, const Place& place, unsigned row, unsigned unit,
                            const float (&x)[4]) {
  const auto* targets = at<const std::uint64_t>(call.task.view.pushes[place.index]) + row * kTargets;
  for (unsigned i = 0; i < kTargets; ++i) {
    if (targets[i] != 0) store_four(targets[i] + std::uint64_t{place.offset + unit} * 4, x);
  }
}

// `sums`: [half][group of eight columns][pair], as wgmma leaves them.
template <class T, class S>
__device__ void update(const LstmCall& call, const Mine<S>& mine, const Old<S>& old,
                       const float (&sums)[S::kShare]) {
  VOLVOX_UNROLL
  for (unsigned h = 0; h < S::kHalves; ++h) {
    const unsigned row = mine.row[h];
    if (row >= call.task.rows) continue;
    const std::uint64_t c_row = call.c_out.base + std::uint64_t{call.c_out.stride_bytes} * old.out[h];
    const std::uint64_t h_row = call.h_out.base + std::uint64_t{call.h_out.stride_bytes} * old.out[h];
    VOLVOX_UNROLL
    for (unsigned p = 0; p < S::kParts; ++p) {
      float c[4], hidden[4];
      VOLVOX_UNROLL
      for (unsigned u = 0; u < 4; ++u) {
        float z[4];
        VOLVOX_UNROLL
        for (unsigned g = 0; g < 4; ++g) {
          const unsigned group = (h * S::kParts + p) * 8 + 2 * u + g / 2;
          z[g] = sums[2 * group + g % 2];
        }
        c[u] = fmaf(fast_sigmoid(z[1]), old.c[h][p][u], fast_sigmoid(z[0]) * fast_tanh(z[2]));
        hidden[u] = fast_sigmoid(z[3]) * fast_tanh(c[u]);
      }
      store_state<T>(call.c_out, c_row, mine.unit[p], c);
      store_state<T>(call.h_out, h_row, mine.unit[p], hidden);
      if (old.wanted[h] == 0) continue;
      for (unsigned i = 0; i < call.h_pushes; ++i) push(call, call.h_push[i], row, mine.unit[p], hidden);
      for (unsigned i = 0; i < call.c_pushes; ++i) push(call, call.c_push[i], row, mine.unit[p], c);
    }
  }
}

// A thread's sums in the order that update() wants; of two blocks each gives the other one row's, and adds
// what it gets to its own.
template <class S>
__device__ void gather_sums(const float (&sums)[S::kSums], std::byte* incoming, float (&own)[S::kShare]) {
  if constexpr (S::kSplit == 1) {
    VOLVOX_UNROLL
    for (unsigned i = 0; i < S::kShare; ++i) {
      const unsigned half = i / (S::kSums / 2), group = i % (S::kSums / 2) / 2;
      own[i] = sums[4 * group + 2 * half + i % 2];
    }
  } else {
    const unsigned me = threadIdx.x - kWarpgroup, rank = blockIdx.z;
    float other[S::kShare];
    VOLVOX_UNROLL
    for (unsigned i = 0; i < S::kShare; ++i) {
      const float first = sums[4 * (i / 2) + i % 2], second = sums[4 * (i / 2) + 2 + i % 2];
      own[i] = rank == 0 ? first : second;
      other[i] = rank == 0 ? second : first;
    }
    cluster_wait();  // until both have begun
    VOLVOX_UNROLL
    for (unsigned i = 0; i < S::kShare; i += 4) {
      std::byte* to = incoming + (i / 4 * kConsumers + me) * 16;
      store_remote(to, 1 - rank, {other[i], other[i + 1], other[i + 2], other[i + 3]});
    }
    cluster_sync();
    VOLVOX_UNROLL
    for (unsigned i = 0; i < S::kShare; i += 4) {
      const float4 x = *reinterpret_cast<const float4*>(incoming + (i / 4 * kConsumers + me) * 16);
      own[i] += x.x, own[i + 1] += x.y, own[i + 2] += x.z, own[i + 3] += x.w;
    }
  }
}

// Until the task's rows are found. All threads of the warpgroup that brings rows. Where the step ahead
// may still run nobody waits for kernels, which end one after the other: words are quicker.
__device__ inline void wait_for_rows(const FusedTask& task) {
  if (task.chained == 0) {
    wait_for_previous_kernel();
  } else if (threadIdx.x == 0) {
    wait_for_word(&at<QueueState>(task.queue.state)->resolved, task.turn);
  }
  sync_threads<1, kWarpgroup>();
}

// Until all that the step ahead writes is there. All threads of a block that read it; one warp more looks out
// for it from the block's begin, while the others learn what to read.
__device__ inline void wait_for_step_ahead(const FusedTask& task) {
  if (task.chained == 0) wait_for_previous_kernel();
  sync_threads<2, kWarpgroup + kConsumers + 32>();
}
// That warp.
__device__ inline void watch_step_ahead(const FusedTask& task) {
  if (task.chained != 0 && threadIdx.x % 32 == 0) wait_for_step_before(task.queue, task.turn);
  wait_for_step_ahead(task);
}

// How many of a block's slabs, from its first on, no task writes. They are brought and multiplied while the
// step ahead still runs.
__device__ inline unsigned early_slabs(const LstmCall& call, unsigned first, unsigned slabs) {
  const unsigned early = early_width(call) / kDepth;
  return early <= first ? 0 : min(early - first, slabs);
}

// Where in the ring of stages somebody is.
template <class S>
struct Turn {
  unsigned stage = 0, parity;
  __device__ explicit Turn(unsigned first_parity) : parity(first_parity) {}
  __device__ void next() {
    if (++stage == S::kStages) stage = 0, parity ^= 1;
  }
};

// One thread brings weights, which depend on no task: as far ahead as there are stages. Of a slab that mates
// need each brings its share to all.
template <class S>
__device__ void bring_weights(const LstmCall& call, std::byte* memory, typename S::Meeting& meeting) {
  const unsigned all = call.width / kDepth, slabs = all / S::kSplit;
  constexpr unsigned kShareBytes = kSlabBytes / S::kMates;
  const unsigned share = S::kMates == 1 ? 0 : blockIdx.y % S::kMates * kShareBytes;
  std::uint64_t from =
      call.weights + (std::uint64_t{blockIdx.x} * all + blockIdx.z * slabs) * kSlabBytes + share;
  Turn<S> turn(1);
  for (unsigned slab = 0; slab < slabs; ++slab, from += kSlabBytes, turn.next()) {
    std::uint64_t* full = meeting.full + turn.stage;
    std::byte* to = memory + turn.stage * S::kStageBytes + share;
    wait(meeting.empty + turn.stage, turn.parity);
    expect_bytes(full, kSlabBytes);
    if constexpr (S::kMates == 1) {
      copy_bulk(to, at<const void>(from), kSlabBytes, full);
    } else {
      copy_bulk_to_all(to, at<const void>(from), kShareBytes, full, S::kMates);
    }
  }
}

// The warpgroup that brings rows. Returns what its first thread needs to end the task.
template <class S>
__device__ Ending bring_rows(const LstmCall& call, std::byte* memory, typename S::Meeting& meeting) {
  const unsigned me = threadIdx.x, slabs = call.width / kDepth / S::kSplit, first = blockIdx.z * slabs;
  wait_for_rows(call.task);
  if (me < S::kRows) {
    const unsigned row = blockIdx.y * S::kRows + me;
    std::uint64_t sources[kLstmTerms + 2];
    VOLVOX_UNROLL
    for (unsigned s = 0; s < kLstmTerms + 2; ++s)
      sources[s] = s < call.term_count + 2 && row < call.task.rows
                       ? at<const std::uint64_t>(call.task.view.sources[s])[row]
                       : 0;
    VOLVOX_UNROLL
    for (unsigned s = 0; s < kLstmTerms + 2; ++s) meeting.rows[s][me] = sources[s];
  }
  sync_threads<3, kWarpgroup + kConsumers>();
  Ending ending;
  const auto begin_step = [&] {
    wait_for_step_ahead(call.task);
    if (me != 0) return;
    if (blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0) begin_task(call.task.queue, call.task.turn);
    // The thread that may end the task asks early for what it takes.
    ending = ending_of(call.task.queue, call.task.seq);
    // Not before: the step ahead, which read what that kernel will write, must have ended when it begins.
    launch_next_kernel();
  };
  constexpr unsigned kEach = S::kRows / 16;
  const unsigned vector = me % 8, early = early_slabs(call, first, slabs);
  // Of rows 16 apart the same vector is in the same place.
  const SharedAddress first_stage = shared_address(memory) + kSlabBytes + vector_at(me / 8, vector);
  // Of the next slab; of a row that is not there no byte is read, from where something can be.
  std::uint64_t from[kEach];
  std::uint32_t bytes[kEach];
  unsigned term = 0, left = 0, skip = first;
  while (skip >= call.widths[term] / kDepth) skip -= call.widths[term++] / kDepth;
  Turn<S> turn(1);
  for (unsigned slab = 0;;) {
    if (slab == early) begin_step();
    if (slab == slabs) break;
    if (left == 0) {
      left = call.widths[term] / kDepth - skip;
      VOLVOX_UNROLL
      for (unsigned i = 0; i < kEach; ++i) {
        const std::uint64_t row = meeting.rows[term][me / 8 + 16 * i];
        bytes[i] = row == 0 ? 0 : 16;
        from[i] = (row == 0 ? call.weights : row) + skip * kRowBytes + vector * 16;
      }
      ++term, skip = 0;
    }
    const unsigned run = min(left, (slab < early ? early : slabs) - slab), end = slab + run;
    left -= run;
    for (; slab < end; ++slab, turn.next()) {
      wait(meeting.empty + turn.stage, turn.parity);
      const SharedAddress to = first_stage + turn.stage * S::kStageBytes;
      VOLVOX_UNROLL
      for (unsigned i = 0; i < kEach; ++i) {
        copy_vector(to + 16 * i * kRowBytes, at<const void>(from[i]), bytes[i]);
        from[i] += kRowBytes;
      }
      arrive_when_copied(meeting.full + turn.stage);
    }
  }
  return ending;
}

// A warp has read a stage, which somebody waits for if so many more slabs follow. (Of mates nobody may end
// before what comes to it has come, so that nothing comes that is not waited for.)
template <class S>
__device__ void give_back(typename S::Meeting& meeting, unsigned stage, bool awaited) {
  const unsigned lane = threadIdx.x % 32;
  if (lane >= S::kMates || !awaited) return;
  if constexpr (S::kMates == 1) {
    arrive(meeting.empty + stage);
  } else {
    arrive_remote(meeting.empty + stage, lane);
  }
}

// The warpgroups that multiply and update.
template <class T, class S>
__device__ void consume(const LstmCall& call, std::byte* memory, typename S::Meeting& meeting) {
  const unsigned group = threadIdx.x / kWarpgroup - 1, slabs = call.width / kDepth / S::kSplit;
  const unsigned early = early_slabs(call, blockIdx.z * slabs, slabs);
  const Mine<S> mine;
  Old<S> old;
  float sums[S::kSums];
  sync_threads<3, kWarpgroup + kConsumers>();  // rows are known
  const bool early_starts = starts_early(call);
  if (!early_starts) wait_for_step_ahead(call.task);
  load_starts<S>(call, mine, meeting, sums);
  const std::uint64_t weights = matrix_at(memory + (S::kRows == 128 ? 0 : group * 64 * kRowBytes));
  const std::uint64_t rows = matrix_at(memory + kSlabBytes + (S::kRows == 128 ? group * 64 * kRowBytes : 0));
  Turn<S> turn(0);
  unsigned before = 0;
  for (unsigned slab = 0;;) {
    if (slab == early) {
      if (early_starts) wait_for_step_ahead(call.task);
      old.load(call, mine, meeting);
    }
    if (slab == slabs) break;
    const unsigned end = slab < early ? early : slabs;
    for (; slab < end; ++slab) {
      wait(meeting.full + turn.stage, turn.parity);
      fence_copies();
      fence_products();
      const std::uint64_t place = turn.stage * (S::kStageBytes / 16);
      VOLVOX_UNROLL
      for (unsigned k = 0; k < kDepth / 16; ++k)
        Products<T, S::kColumnsEach>::add(sums, rows + place + 2 * k, weights + place + 2 * k);
      commit_products();
      wait_for_products<1>();
      if (slab > 0) give_back<S>(meeting, before, slab + S::kStages - 1 < slabs);
      before = turn.stage;
      turn.next();
    }
  }
  wait_for_products<0>();
  float own[S::kShare];
  gather_sums<S>(sums, memory + S::kStages * S::kStageBytes, own);
  update<T, S>(call, mine, old, own);
}

template <class T, class S>
__global__ void __launch_bounds__(kThreads, 1) kernel(const __grid_constant__ LstmCall call) {
  std::byte* memory = shared_memory();
  auto& meeting = shared_object<typename S::Meeting>();
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < S::kStages; ++s) {
      init_barrier(meeting.full + s, kWarpgroup + 1);
      init_barrier(meeting.empty + s, S::kReaders);
    }
    fence_barriers();
  }
  __syncthreads();
  if constexpr (S::kSplit > 1) cluster_arrive();
  if constexpr (S::kMates > 1) cluster_sync();  // their barriers are there
  Ending ending;
  if (threadIdx.x < kWarpgroup) {
    set_registers_down<72>();
    ending = bring_rows<S>(call, memory, meeting);
    if constexpr (S::kSplit > 1) {
      __syncwarp();
      cluster_wait();
      cluster_sync();
    }
  } else if (threadIdx.x < kWarpgroup + kConsumers) {
    set_registers_up<208>();
    consume<T, S>(call, memory, meeting);
  } else {
    set_registers_down<24>();
    const unsigned warp = threadIdx.x / 32 - (kWarpgroup + kConsumers) / 32;
    if (warp == 0 && threadIdx.x % 32 == 0) bring_weights<S>(call, memory, meeting);
    if (warp == 1) watch_step_ahead(call.task);
    if constexpr (S::kSplit > 1) {
      __syncwarp();
      cluster_wait();
      cluster_sync();
    }
  }
  if (ends_direct_task(call.task.queue, call.task.turn))
    finish_direct(call.task.queue, ending, call.task.turn, call.task.chained != 0);
}

}  // namespace volvox::gpu::hopper
