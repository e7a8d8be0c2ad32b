// Every operator on a CPU against its definition, bit by bit.
#include "same_bits.h"
#include "tests/unit/cells/op_cases.h"

namespace volvox::cpu {
namespace {

using testing_cells::op_cases;
using testing_cells::OpBatch;
using testing_cells::OpCase;

struct OpRun {
  Isa isa;
  std::uint32_t threads;
  bool row_by_row;  // each row in a task of its own
};

Task task_of(const OpBatch& batch, std::uint32_t first, std::uint32_t rows, DeviceAddress results) {
  const std::size_t bytes = batch.result_elements() * sizeof(float);
  Task task;
  task.rows = task.padded_rows = rows;
  for (std::uint32_t r = first; r < first + rows; ++r) {
    const OpBatch::Row& row = batch.rows()[r];
    RowBinding& binding = task.bindings.emplace_back();
    binding.length = 1;
    for (std::size_t i = 0; i < kMaxGathers; ++i) binding.gathers[i].base = kReservedSlots + row.gathers[i];
    binding.ragged = {static_cast<std::uint32_t>(task.edges.size()),
                      static_cast<std::uint32_t>(row.list.size()), true};
    for (const std::uint32_t source : row.list) task.edges.push_back(kReservedSlots + source);
    task.emits.push_back({r - first, 0, results + r * bytes});
  }
  return task;
}

std::vector<std::byte> on_device(const OpBatch& batch, const OpRun& run) {
  const auto device = CpuDevice::make({.isa = run.isa, .threads = run.threads, .measure = false}).value();
  EXPECT_TRUE(device->add_pool(0, batch.states(), kReservedSlots + OpBatch::kSources));
  for (std::uint32_t s = 0; s < OpBatch::kSources; ++s) {
    EXPECT_TRUE(device->write_slot(0, kReservedSlots + s, std::as_bytes(std::span(batch.source(s)))));
  }
  const auto compiled = device->compile(0, batch.cell(), batch.weights(), {.max_batch = 512});
  EXPECT_TRUE(compiled) << compiled.error().message;
  const auto queue = device->open({.name = "test", .threads = run.threads}).value();
  const auto rows = static_cast<std::uint32_t>(batch.rows().size()), step = run.row_by_row ? 1 : rows;
  const auto results = device->results(rows * batch.result_elements() * sizeof(float)).value();
  TaskSeq seq = 0;
  for (std::uint32_t first = 0; first < rows; first += step) {
    Task task = task_of(batch, first, step, results.address);
    task.seq = ++seq;
    EXPECT_TRUE(queue->submit(task));
    EXPECT_TRUE(queue->wait(seq - 1, std::chrono::seconds(30)));
    EXPECT_EQ(queue->progress().error, "");
  }
  return {results.host.get(), results.host.get() + results.size_bytes};
}

TEST(Ops, HaveTheBitsOfTheirDefinitionsOnEveryPathAndInEveryBatch) {
  for (const OpCase& one : op_cases()) {
    for (const std::uint32_t rows : {1U, 13U, 150U}) {
      const OpBatch batch(one, rows);
      const auto want = batch.in_evaluator<float, OurMath>();
      for (const Isa isa : supported_isas()) {
        for (const std::uint32_t threads : {1U, 2U}) {
          const bool row_by_row = threads == 1 && rows == 13;
          ASSERT_EQ(on_device(batch, {isa, threads, row_by_row}), want)
              << one.op << ", " << rows << " rows, " << to_string(isa) << ", " << threads << " threads";
        }
      }
    }
  }
}

}  // namespace
}  // namespace volvox::cpu
