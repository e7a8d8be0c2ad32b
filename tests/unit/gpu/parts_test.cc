#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/driver/errors.h"
#include "gpu/kernels/argmax.h"
#include "gpu/kernels/half.h"
#include "gpu/memory/page_bitmap.h"
#include "gpu/memory/upload_batch.h"
#include "gpu/program/program_writer.h"
#include "gpu/queue/batch_sizes.h"
#include "gpu/queue/payload_ring.h"
#include "gpu/queue/task_encoder.h"

// What needs no device at all.
namespace volvox::gpu {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BatchSizes, AreFewAndWasteLittle) {
  EXPECT_THAT(batch_sizes(1), ElementsAre(1));
  EXPECT_THAT(batch_sizes(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(batch_sizes(256), ElementsAre(1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256));
  const auto sizes = batch_sizes(512);
  for (std::uint32_t rows = 1; rows <= 512; ++rows) {
    const std::uint32_t size = size_for(sizes, rows);
    EXPECT_GE(size, rows);
    EXPECT_TRUE(rows <= 64 || size < rows * 3 / 2) << rows;
  }
  EXPECT_EQ(size_for(sizes, 513), 0U);
  EXPECT_THAT(edge_sizes(5000), ElementsAre(64, 256, 1024, 4096, 5000));
}

TEST(Argmax, TheBestOfManyDoesNotDependOnWhoMeetsWhom) {
  std::vector<Candidate> all{{NAN, 0}, {-1.0F, 1}, {-0.0F, 2}, {0.0F, 3}, {-NAN, 4}, {-INFINITY, 5}};
  const auto by_index = [](const Candidate& a, const Candidate& b) { return a.index < b.index; };
  do {
    Candidate in_turn = no_candidate();
    for (const Candidate& one : all) in_turn = better_of(in_turn, one);
    const Candidate halves =
        better_of(better_of(all[0], better_of(all[1], all[2])), better_of(better_of(all[3], all[4]), all[5]));
    ASSERT_EQ(in_turn.index, 2U);
    ASSERT_EQ(halves.index, 2U);
  } while (std::next_permutation(all.begin(), all.end(), by_index));
}

TEST(Argmax, AddsABiasOnTheWay) {
  const std::vector<float> x{1, 5, 2, 0, 9, 0}, bias{0, -3, 2.5F};
  const auto address = [](const auto& v) { return reinterpret_cast<std::uintptr_t>(v.data()); };
  const ArgmaxCall plain{.x = address(x), .x_stride_bytes = 12, .rows = 2, .width = 3};
  ArgmaxCall biased = plain;
  biased.bias = address(bias);
  EXPECT_EQ(best_of_share(plain, 0, 0, 1).index, 1U);
  EXPECT_EQ(best_of_share(biased, 0, 0, 1).index, 2U);
  EXPECT_EQ(best_of_share(biased, 1, 0, 1).index, 1U);
}

TEST(PageBitmap, NeverGivesAPageTwice) {
  PageBitmap list(64, PageBitmap::Cursors::kOne);
  std::mt19937 random(3);
  std::vector<std::pair<std::size_t, std::size_t>> held;
  std::vector<bool> taken(64, false);
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0) {
      const std::size_t pages = 1 + random() % 9;
      const auto first = list.take(pages);
      if (!first) continue;
      for (std::size_t p = *first; p < *first + pages; ++p) {
        ASSERT_FALSE(taken.at(p));
        taken[p] = true;
      }
      held.emplace_back(*first, pages);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto [first, pages] = held.back();
      held.pop_back();
      for (std::size_t p = first; p < first + pages; ++p) taken[p] = false;
      list.give_back(first, pages);
    }
  }
  for (const auto& [first, pages] : held) list.give_back(first, pages);
  EXPECT_EQ(list.free_pages(), 64U);
  EXPECT_TRUE(list.take(64)) << "the gaps have grown together";
}

TEST(PageBitmap, GivesNeighboursInARow) {
  PageBitmap list(10, PageBitmap::Cursors::kOne);
  EXPECT_EQ(list.take(2), 0U);
  EXPECT_EQ(list.take(3), 2U);
  list.give_back(0, 2);
  EXPECT_EQ(list.take(2), 5U) << "goes on where it was";
  EXPECT_EQ(list.take(4), std::nullopt);
  EXPECT_EQ(list.take(3), 7U);
  EXPECT_EQ(list.take(1), 0U);
}

void expect_one_holder_each(PageBitmap::Cursors cursors) {
  constexpr std::size_t kPages = 1000;
  PageBitmap list(kPages, cursors);
  std::vector<std::atomic<int>> holders(kPages);
  std::atomic<int> shared{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::size_t, std::size_t>> held;
    const auto drop = [&] {
      const auto [first, pages] = held.back();
      held.pop_back();
      for (std::size_t p = first; p < first + pages; ++p) --holders[p];
      list.give_back(first, pages);
    };
    for (int i = 0; i < 5000; ++i) {
      const std::size_t pages = 1 + random() % (i % 16 == 0 ? 150 : 9);  // some over several words
      if (const auto first = list.take(pages)) {
        for (std::size_t p = *first; p < *first + pages; ++p) shared += holders.at(p)++;
        held.emplace_back(*first, pages);
      }
      if (held.size() > 20) drop();
    }
    while (!held.empty()) drop();
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_EQ(list.free_pages(), kPages);
  EXPECT_EQ(list.take(kPages), 0U);
}

TEST(PageBitmap, GivesEachPageToOneOfManyThreads) {
  expect_one_holder_each(PageBitmap::Cursors::kOne);
  expect_one_holder_each(PageBitmap::Cursors::kByThread);
}

TEST(UploadBatch, MergesNeighboursThatCameInAnyOrder) {
  std::vector<UploadBatch::Range> ranges{{300, 50}, {0, 100}, {350, 10}, {100, 100}};
  UploadBatch::merge_neighbours(ranges);
  EXPECT_THAT(ranges, ElementsAre(UploadBatch::Range{0, 200}, UploadBatch::Range{300, 60}));
  ranges.clear();
  UploadBatch::merge_neighbours(ranges);
  EXPECT_TRUE(ranges.empty());
}

TEST(UploadBatch, IsDueWhenLargeOrOld) {
  UploadBatch batch;
  const TimePoint start{microseconds(100)};
  EXPECT_FALSE(batch.due(start));
  batch.add(0, 100, start);
  batch.add(100, 50, start + microseconds(5));
  EXPECT_FALSE(batch.due(start + microseconds(19)));
  EXPECT_TRUE(batch.due(start + microseconds(20)));
  batch.add(1000, kUploadBytes, start + microseconds(6));
  EXPECT_TRUE(batch.due(start + microseconds(6)));
  EXPECT_THAT(batch.ranges(),
              ElementsAre(UploadBatch::Range{0, 150}, UploadBatch::Range{1000, kUploadBytes}));
  batch.clear();
  EXPECT_FALSE(batch.due(start + microseconds(1000)));
}

TEST(PayloadRing, TakesWhatDoneTasksGiveBack) {
  PayloadRing ring(100);
  EXPECT_EQ(ring.take(1, 40), 0U);
  EXPECT_EQ(ring.take(2, 40), 40U);
  EXPECT_EQ(ring.take(3, 30), std::nullopt);
  ring.done(1);
  EXPECT_EQ(ring.take(3, 30), 0U) << "at the front again: 20 at the end are too few";
  EXPECT_EQ(ring.take(4, 11), std::nullopt) << "task 2 lies there";
  EXPECT_EQ(ring.take(4, 10), 30U);
  EXPECT_EQ(ring.take(5, 1), std::nullopt);
  ring.done(4);
  EXPECT_EQ(ring.take(5, 100), 0U);
}

TEST(PayloadRing, NeverOverlaps) {
  PayloadRing ring(1000);
  std::mt19937 random(1);
  std::map<TaskSeq, std::pair<std::size_t, std::size_t>> live;
  TaskSeq done = 0;
  for (TaskSeq seq = 1; seq < 3000; ++seq) {
    const std::size_t size = random() % 300;
    auto place = ring.take(seq, size);
    while (!place) {
      ASSERT_LT(done, seq - 1) << "an empty ring must have room";
      live.erase(++done);
      ring.done(done);
      place = ring.take(seq, size);
    }
    ASSERT_LE(*place + size, 1000U);
    for (const auto& [other, range] : live) {
      ASSERT_TRUE(size == 0 || range.first >= *place + size || range.second <= *place) << seq;
    }
    if (size > 0) live[seq] = {*place, *place + size};
  }
}

TEST(Half, IsTheNearest) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool nan16 = (bits & 0x7fffU) > 0x7c00U, nan_b16 = (bits & 0x7fffU) > 0x7f80U;
    ASSERT_TRUE(nan16 || to_float16(from_float16(half)) == half) << bits;
    ASSERT_TRUE(nan_b16 || to_bfloat16(from_bfloat16(half)) == half) << bits;
  }
  EXPECT_EQ(from_float16(to_float16(1.0F + 0x1p-11F)), 1.0F) << "to even";
  EXPECT_EQ(from_float16(to_float16(1.0F + 0x3p-11F)), 1.0F + 0x1p-9F);
  EXPECT_EQ(from_float16(to_float16(0x1p-24F)), 0x1p-24F) << "the smallest";
  EXPECT_EQ(to_float16(65520.0F), 0x7c00U);
  EXPECT_EQ(to_float16(65519.0F), 0x7bffU);
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 0x1p-8F)), 1.0F);
  EXPECT_EQ(to_tf32(1.0F + 0x1p-11F), 1.0F + 0x1p-10F) << "away from zero";
  EXPECT_EQ(to_tf32(-1.0F - 0x1p-11F), -1.0F - 0x1p-10F);
  EXPECT_EQ(to_tf32(1.0F + 0x1p-12F), 1.0F);
  EXPECT_EQ(to_tf32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(to_tf32(NAN)));
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(NAN))));
  EXPECT_TRUE(std::isnan(from_float16(to_float16(-NAN))));
}

TEST(ProgramWriter, ReusesRegistersAndDropsWhatNobodyReads) {
  ProgramWriter writer;
  auto sum = writer.load(0);
  (void)writer.load(7);
  for (std::uint16_t i = 1; i < 200; ++i) {
    sum = writer.compute(Instruction::Code::kAdd, sum, writer.load(i));
  }
  writer.store(300, sum);
  const auto program = writer.finish();
  ASSERT_TRUE(program);
  EXPECT_EQ(program->size(), 400U);
  for (const Instruction& in : *program) EXPECT_LT(in.out, 3U);
}

TEST(ProgramWriter, SaysWhenItNeedsTooManyRegisters) {
  ProgramWriter writer;
  std::vector<ProgramWriter::Number> all;
  for (std::uint16_t i = 0; i <= kRegisters; ++i) all.push_back(writer.load(i));
  for (const auto number : all) writer.store(0, number);
  EXPECT_FALSE(writer.finish());
}

RowBinding binding_of(std::uint32_t out_base) {
  RowBinding b;
  b.out_base = out_base;
  return b;
}

TEST(TaskEncoder, SendsEachChangedRowOnceAsItIsInTheEnd) {
  RowTables tables(2, 8);
  TaskEncoder encoder;
  Task first;
  first.seq = 1;
  first.form = Task::Form::kCohort;
  first.rows = 3;
  first.bindings = {binding_of(10), binding_of(20), binding_of(30)};
  first.changes = {{0, RowChange::kBind, 0}, {1, RowChange::kBind, 1}, {2, RowChange::kBind, 2}};
  ASSERT_TRUE(tables.apply(first));
  Task next;  // row 0 leaves, the last takes its place; then row 1 moves to 0 all the same
  next.seq = 2;
  next.form = Task::Form::kCohort;
  next.step = 1;
  next.rows = 2;
  next.bindings = {binding_of(40)};
  next.changes = {{0, 2, 0}, {0, 1, 0}, {1, RowChange::kBind, 0}};
  ASSERT_TRUE(tables.apply(next));
  ASSERT_TRUE(encoder.begin(next, tables, {}, 2));
  std::vector<std::byte> payload(encoder.payload_bytes());
  const TaskHeader header = encoder.write(payload.data(), reinterpret_cast<std::uintptr_t>(payload.data()));
  ASSERT_EQ(header.record_count, 2U);
  EXPECT_EQ(header.cohort, 0U);
  const auto* rows = at<const std::uint32_t>(header.record_rows);
  const auto* records = at<const RowRecord>(header.records);
  EXPECT_EQ(rows[0], 0U);
  EXPECT_EQ(records[0].out_base, 20U);
  EXPECT_EQ(rows[1], 1U);
  EXPECT_EQ(records[1].out_base, 40U);
  Task same;
  same.seq = 3;
  same.form = Task::Form::kCohort;
  same.rows = 2;
  ASSERT_TRUE(tables.apply(same));
  ASSERT_TRUE(encoder.begin(same, tables, {}, 2));
  EXPECT_EQ(encoder.payload_bytes(), 0U) << "an unchanged cohort sends nothing but its header";
}

TEST(TaskEncoder, BoundsTheResultsOfOneRow) {
  RowTables tables(1, 8);
  TaskEncoder encoder;
  Task task;
  task.seq = 1;
  task.rows = 1;
  task.bindings.emplace_back();
  task.emits = {{0, 0, 64}, {0, 1, 128}, {0, 0, 192}};
  EXPECT_TRUE(encoder.begin(task, tables, {}, 1));
  task.emits.push_back({0, 0, 256});
  EXPECT_FALSE(encoder.begin(task, tables, {}, 1));
}

TEST(Errors, SayWhatToDo) {
  EXPECT_EQ(error_of(kNoDevice, "none", "looking").code, ErrorCode::kUnavailable);
  EXPECT_THAT(error_of(kInsufficientDriver, "old", "looking").message, HasSubstr("install an NVIDIA driver"));
  EXPECT_EQ(error_of(kMemoryAllocation, "full", "loading").code, ErrorCode::kOverloaded);
  EXPECT_THAT(error_of(kMemoryAllocation, "full", "loading").message, HasSubstr("device.state_mib"));
  EXPECT_EQ(error_of(kNoKernelImage, "image", "launching").code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error_of(700, "an illegal address", "running").message, HasSubstr("restart the server"));
  for (int lost : {214, 220, 224, 702, 709, 710, 719, 999}) {
    EXPECT_EQ(error_of(lost, "lost", "running").code, ErrorCode::kUnavailable) << lost;
  }
  // Refused, but nothing is lost: invalid values and configurations, too many resources, captures.
  for (int refused : {1, 9, 98, 701, 720, 900, 901, 908}) {
    EXPECT_EQ(error_of(refused, "refused", "launching").code, ErrorCode::kInternal) << refused;
    EXPECT_THAT(error_of(refused, "refused", "launching").message, Not(HasSubstr("restart"))) << refused;
  }
}

}  // namespace
}  // namespace volvox::gpu
