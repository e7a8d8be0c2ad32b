#pragma once

#include <cstdint>

// nvcc, or a test that stands in for it and for what only the device has.
#if defined(__CUDACC__)
#include "gpu/cuda/hopper.cuh"
#endif

#include "gpu/cuda/finish.cuh"
#include "gpu/fused/hopper_tile.h"
#include "gpu/fused/lstm_step.h"

// One step of an LSTM as one kernel, for GPUs of compute capability 9.0. A block has a warpgroup that brings
// operands to shared memory, weights as whole slabs by the copy engine, rows vector by vector from wherever
// they lie, and two that multiply them (wgmma) and update the units whose gates they have. Their old states
// and starts are on the way meanwhile. What limits the large ones is what the second cache gives: where a cut
// has mates, blocks of the same units bring the weights for each other (multicast). Weights depend on no
// task, and are fetched before the kernel ahead of this one has ended (programmatic dependent launch).
namespace volvox::gpu::hopper {

inline constexpr unsigned kThreads = 384, kWarpgroup = 128, kConsumers = 256;

// Where the two sides of a block meet.
template <unsigned kRows, unsigned kStages>
struct Meeting {
  std::uint64_t full[kStages], empty[kStages];
  std::uint64_t rows[kLstmTerms][kRows];  // addresses of the operands
};

// A cut (hopper_tile.h) at compile time, and what follows from it. `kNeighbours`: blocks of the same units
// that bring weights for each other. `kWeightsAhead`: weights come for as many slabs as there are stages
// before the step ahead has ended.
template <unsigned kTileRows, unsigned kBlocks, unsigned kNeighbours = 1, bool kWeightsAhead = false>
struct Shape {
  static constexpr bool kAhead = kWeightsAhead;
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

// Which of the task's rows this thread updates, and of the cell's units the first of each four.
template <class S>
struct Mine {
  unsigned row[S::kHalves], unit[S::kParts];

  __device__ Mine() {
    const unsigned me = threadIdx.x - kWarpgroup, group = me / kWarpgroup, lane = me % 32;
    const unsigned first_row = blockIdx.y * S::kRows + (S::kRows == 128 ? group * 64 : 0);
    const unsigned first_unit = blockIdx.x * kUnits + (S::kRows == 128 ? 0 : group * 16);
    for (unsigned h = 0; h < S::kHalves; ++h) {
      const unsigned half = S::kSplit == 1 ? h : blockIdx.z;
      row[h] = first_row + me % kWarpgroup / 32 * 16 + lane / 4 + 8 * half;
    }
    for (unsigned p = 0; p < S::kParts; ++p) unit[p] = first_unit + unit_of(p, lane % 4, 0);
  }
};

// What rows of a task start from, on its way while their products are computed.
template <class S>
struct Old {
  float c[S::kHalves][S::kParts][4];
  float start[S::kHalves][S::kParts][4][4];  // by gate
  std::uint32_t out[S::kHalves], wanted[S::kHalves];

  // Rows past the last read what the last one does, and write nothing.
  __device__ void load(const LstmCall& call, const Mine<S>& mine) {
    const RowView& view = call.task.view;
    std::uint64_t c_row[S::kHalves], start_row[S::kHalves];
    VOLVOX_UNROLL
    for (unsigned h = 0; h < S::kHalves; ++h) {
      const unsigned row = min(mine.row[h], call.task.rows - 1);
      c_row[h] = at<const std::uint64_t>(view.sources[call.term_count])[row];
      start_row[h] = at<const std::uint64_t>(view.sources[call.term_count + 1])[row];
      out[h] = at<const std::uint32_t>(view.out)[row];
      wanted[h] = at<const std::uint32_t>(view.wanted)[row];
    }
    VOLVOX_UNROLL
    for (unsigned h = 0; h < S::kHalves; ++h) {
      VOLVOX_UNROLL
      for (unsigned p = 0; p < S::kParts; ++p) {
        load_four(c[h][p], c_row[h], std::uint64_t{mine.unit[p]} * 4);
        VOLVOX_UNROLL
        for (unsigned g = 0; g < 4; ++g)
          load_four(start[h][p][g], start_row[h], std::uint64_t{g * call.units + mine.unit[p]} * 4);
      }
    }
  }
};

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
          z[g] = sums[2 * group + g % 2] + old.start[h][p][g][u];
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

// Until the task's rows are found. All threads of the warpgroup that brings operands. Where the step ahead
// may still run nobody waits for kernels, which end one after the other: words are quicker.
__device__ inline void wait_for_rows(const FusedTask& task) {
  if (task.chained == 0) {
    wait_for_previous_kernel();
  } else if (threadIdx.x == 0) {
    wait_for_word(&at<QueueState>(task.queue.state)->resolved, task.turn);
  }
  sync_threads<1, kWarpgroup>();
}

// Until all that the step ahead writes is there. All threads of a block.
__device__ inline void wait_for_step_ahead(const FusedTask& task) {
  if (task.chained == 0) {
    wait_for_previous_kernel();
  } else if (threadIdx.x == 0) {
    wait_for_step_before(task.queue, task.turn);
  }
  sync_threads<2, kThreads>();
}

// How many of a block's slabs, from its first on, no task writes. They are brought and multiplied while the
// step ahead still runs.
__device__ inline unsigned early_slabs(const LstmCall& call, unsigned first, unsigned slabs) {
  const unsigned early = early_width(call) / kDepth;
  return early <= first ? 0 : min(early - first, slabs);
}

// The warpgroup that brings operands. Returns what its first thread needs to end the task.
template <class S>
__device__ Ending produce(const LstmCall& call, std::byte* memory, typename S::Meeting& meeting) {
  const unsigned me = threadIdx.x, all = call.width / kDepth, slabs = all / S::kSplit;
  const unsigned first = blockIdx.z * slabs;
  constexpr unsigned kShareBytes = kSlabBytes / S::kMates;
  const unsigned share = blockIdx.y % S::kMates * kShareBytes;
  const std::uint64_t weights = call.weights + (std::uint64_t{blockIdx.x} * all + first) * kSlabBytes + share;
  // Mates need the same slabs, and each brings its share of them to all.
  const auto bring = [&](unsigned slab) {
    const unsigned stage = slab % S::kStages;
    std::byte* to = memory + stage * S::kStageBytes + share;
    const void* from = at<const void>(weights + std::uint64_t{slab} * kSlabBytes);
    expect_bytes(meeting.full + stage, kSlabBytes);
    if constexpr (S::kMates == 1) {
      copy_bulk(to, from, kShareBytes, meeting.full + stage);
    } else {
      copy_bulk_to_all(to, from, kShareBytes, meeting.full + stage, S::kMates);
    }
  };
  // Of weights as many slabs as there are stages are under way, whether rows are known or not.
  unsigned brought = 0;
  const auto wait_for_room = [&](unsigned slab) {
    if (slab >= S::kStages) wait(meeting.empty + slab % S::kStages, (slab / S::kStages & 1) ^ 1);
  };
  const auto bring_until = [&](unsigned end) {
    if (me != 0) return;
    for (; brought < min(end, slabs); ++brought) {
      wait_for_room(brought);
      bring(brought);
    }
  };
  bring_until(S::kStages);
  wait_for_rows(call.task);
  if (me < S::kRows) {
    const unsigned row = blockIdx.y * S::kRows + me;
    for (unsigned t = 0; t < call.term_count; ++t)
      meeting.rows[t][me] =
          row < call.task.rows ? at<const std::uint64_t>(call.task.view.sources[t])[row] : 0;
  }
  sync_threads<1, kWarpgroup>();
  Ending ending;
  const auto begin_step = [&](unsigned slab) {
    if constexpr (S::kAhead) bring_until(slab + S::kStages);
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
  std::uint64_t from[kEach];
  unsigned term = 0, begin = 0, end = 0;
  for (unsigned slab = 0;; ++slab) {
    if (slab == early) begin_step(slab);
    if (slab == slabs) break;
    const unsigned k = (first + slab) * kDepth;
    if (k >= end) {
      while (k >= end) begin = end, end += call.widths[term++];
      VOLVOX_UNROLL
      for (unsigned i = 0; i < kEach; ++i) from[i] = meeting.rows[term - 1][me / 8 + 16 * i];
    }
    const unsigned stage = slab % S::kStages;
    bring_until(slab + 1);
    wait_for_room(slab);
    std::byte* to = memory + stage * S::kStageBytes + kSlabBytes;
    VOLVOX_UNROLL
    for (unsigned i = 0; i < kEach; ++i) {
      const std::uint64_t address = from[i] == 0 ? call.weights : from[i] + (k - begin) * 2 + vector * 16;
      copy_vector(to + vector_at(me / 8 + 16 * i, vector), at<const void>(address), from[i] != 0);
    }
    arrive_when_copied(meeting.full + stage);
  }
  return ending;
}

// A warp has read a stage, which somebody waits for if so many more slabs follow. (Of mates nobody may end
// before what comes to it has come, so that nothing comes that is not waited for.)
template <class S>
__device__ void give_back(typename S::Meeting& meeting, unsigned slab, unsigned slabs) {
  if (threadIdx.x % 32 != 0 || slab + S::kStages >= slabs) return;
  std::uint64_t* empty = meeting.empty + slab % S::kStages;
  if constexpr (S::kMates == 1) {
    arrive(empty);
  } else {
    for (unsigned rank = 0; rank < S::kMates; ++rank) arrive_remote(empty, rank);
  }
}

// The warpgroups that multiply and update.
template <class T, class S>
__device__ void consume(const LstmCall& call, std::byte* memory, typename S::Meeting& meeting) {
  const unsigned group = threadIdx.x / kWarpgroup - 1, slabs = call.width / kDepth / S::kSplit;
  const unsigned early = early_slabs(call, blockIdx.z * slabs, slabs);
  float sums[S::kSums];
  VOLVOX_UNROLL
  for (float& sum : sums) sum = 0;
  const Mine<S> mine;
  Old<S> old;
  for (unsigned slab = 0;; ++slab) {
    if (slab == early) {
      if constexpr (S::kAhead) {
        wait_for_products<0>();
        if (slab > 0) give_back<S>(meeting, slab - 1, slabs);
      }
      wait_for_step_ahead(call.task);
      old.load(call, mine);
    }
    if (slab == slabs) break;
    const unsigned stage = slab % S::kStages;
    const std::byte* weights =
        memory + stage * S::kStageBytes + (S::kRows == 128 ? 0 : group * 64 * kRowBytes);
    const std::byte* rows =
        memory + stage * S::kStageBytes + kSlabBytes + (S::kRows == 128 ? group * 64 * kRowBytes : 0);
    wait(meeting.full + stage, slab / S::kStages & 1);
    fence_copies();
    fence_products();
    VOLVOX_UNROLL
    for (unsigned k = 0; k < kDepth / 16; ++k) {
      Products<T, S::kColumnsEach>::add(sums, matrix_at(rows) + 2 * k, matrix_at(weights) + 2 * k);
    }
    commit_products();
    wait_for_products<1>();
    if (slab > 0 && !(S::kAhead && slab == early)) give_back<S>(meeting, slab - 1, slabs);
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
    ending = produce<S>(call, memory, meeting);
    if constexpr (S::kSplit > 1) {
      cluster_wait();
      cluster_sync();
    }
  } else {
    set_registers_up<216>();
    consume<T, S>(call, memory, meeting);
  }
  if (ends_direct_task(call.task.queue, call.task.turn))
    finish_direct(call.task.queue, ending, call.task.turn, call.task.chained != 0);
}

}  // namespace volvox::gpu::hopper
