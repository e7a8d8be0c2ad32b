#pragma once

#include <deque>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "device/fake_device.h"
#include "device/hazards.h"

namespace volvox {

// A queue of the fake device; see there. Everything is guarded by the device's mutex: what begins with
// "locked" expects it held.
class FakeQueue final : public Queue {
 public:
  FakeQueue(FakeDevice& device, std::size_t number, const QueueConfig& config);
  ~FakeQueue() override;

  Status submit(const Task& task) override;
  Status copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq after) override;
  Progress progress() const override;
  bool wait(TaskSeq beyond, Duration timeout) override;

  std::size_t locked_run(std::size_t tasks);
  std::size_t locked_pending() const { return ran_up_to_ < last_ && failed_ == 0 ? last_ - ran_up_to_ : 0; }
  void locked_withhold(bool on);
  void locked_fail_task(TaskSeq seq) { doomed_.insert(seq); }
  void locked_refuse_task(TaskSeq seq) { unwelcome_.insert(seq); }

 private:
  struct Copy {
    Device* from;
    std::vector<SlotCopy> slots;
  };
  using Entry = std::variant<const Task*, Copy>;

  TaskSeq locked_done() const { return withheld_ ? reported_ : ran_up_to_; }
  bool locked_failed() const { return failed_ != 0 && locked_done() + 1 == failed_; }
  Status check_room() const;
  void run_task(const Task& task);
  std::string prepare(const Task& task, const InterpretedCell& cell);
  std::string check_rows(const InterpretedCell& cell);
  void fail_from(TaskSeq seq, std::string why);

  FakeDevice& device_;
  const std::size_t number_;
  const QueueConfig config_;
  RowTables tables_;
  HazardCheck hazards_;
  ResolvedRows rows_;
  std::deque<Entry> entries_;
  std::set<TaskSeq> doomed_, unwelcome_;
  TaskSeq last_ = 0;  // submitted
  TaskSeq ran_up_to_ = 0;
  TaskSeq reported_ = 0;  // as of withhold()
  bool withheld_ = false;
  TaskSeq failed_ = 0;
  std::string error_;
};

}  // namespace volvox
