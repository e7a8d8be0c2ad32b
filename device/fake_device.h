#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/address_book.h"
#include "device/interpreted_device.h"

namespace volvox {

class FakeQueue;

// Tests must see what a scheduler or worker does when a device is as slow, as lazy and as unlucky as it may
// be, and must see it again. The fake device runs nothing by itself: a task runs when the test says so, or,
// at the last legal moment, when somebody waits for it. It really computes, by interpreting the cells, and
// checks what it is given: task numbers, bounds, row tables, slots, hazards between rows, addresses that are
// not (or no longer) staged. What is wrong is recorded in errors(), and the task computes nothing.
//
// Deterministic when one thread calls; every call is safe from any thread. Queues are numbered as opened.
class FakeDevice final : public InterpretedDevice {
 public:
  struct Options {
    Config config{.name = "fake", .sizes = {}, .costs = {{1, 1.0}}, .poison = true};
    bool run_when_waited_for = true;  // Queue::wait() runs what it waits for
    bool check_addresses = true;      // off: tasks may name any memory
    bool hold_inputs = false;         // staged inputs have not landed before land_inputs()
  };
  struct Ran {
    std::size_t queue = 0;
    TaskSeq seq = 0;
    CellTypeId type = 0;
    std::uint32_t rows = 0, padded_rows = 0;
  };

  FakeDevice() : FakeDevice(Options{}) {}
  explicit FakeDevice(Options options);
  ~FakeDevice() override;

  Result<std::unique_ptr<Queue>> open(const QueueConfig& config) override;
  Result<std::unique_ptr<InputPages>> stage(std::span<const InputBlock> blocks) override;
  Result<ResultBlock> results(std::size_t size_bytes) override;
  Status read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) override;
  Status write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) override;

  // Runs the next tasks of a queue, with the state copies that stand before them. Returns how many ran.
  std::size_t run(std::size_t queue, std::size_t tasks = 1);
  // While on, tasks run but are not reported done.
  void withhold(std::size_t queue, bool on);
  // The task fails when its turn comes, and every later one of the queue with it.
  void fail_task(std::size_t queue, TaskSeq seq);
  // The queue refuses the task, as one does that has no memory left for it.
  void refuse_task(std::size_t queue, TaskSeq seq);
  void land_inputs();
  // While on, whoever reads or writes a slot waits.
  void hold_slots(bool on);
  std::size_t waiting_for_slots() const;

  std::size_t pending(std::size_t queue) const;  // tasks submitted that have not run
  std::vector<Ran> ran() const;
  std::vector<std::string> errors() const;

 private:
  friend class FakeQueue;
  std::string check_addresses(const InterpretedCell& cell, const ResolvedRows& rows) const;
  void wait_for_slots();
  void record(std::string error) { errors_.push_back(std::move(error)); }

  const Options options_;
  const std::shared_ptr<AddressBook> addresses_;
  mutable std::mutex mutex_;  // guards everything below, and the queues
  std::condition_variable changed_;
  bool holds_slots_ = false;
  std::size_t waiting_for_slots_ = 0;
  std::vector<FakeQueue*> queues_;
  std::vector<Ran> ran_;
  std::vector<std::string> errors_;
};

}  // namespace volvox
