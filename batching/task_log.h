#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "batching/lanes/lane_run.h"
#include "device/task.h"

namespace volvox {

// The traced requests, by tag, whose rows came into a task, and those whose rows left after it: of several
// lanes of one request, more than once. Nobody stands in it who was there before and stays.
struct TaskCompany {
  std::vector<std::uint64_t> joined, left;
};

// What must happen when a task is done.
struct TaskRecord {
  struct Touched {
    std::uint32_t request = 0;
    std::uint32_t nodes = 0;  // of a graph request in this task
  };
  struct Mark {
    std::uint32_t request = 0;
    LaneId lane = 0;
    Step step = 0;  // or node
  };

  TaskSeq seq = 0;
  CellTypeId type = 0;
  WorkerId worker = 0;
  double cost_us = 0;
  std::vector<LaneRef> ended;    // lanes whose last step it holds
  std::vector<Touched> touched;  // requests that may be over, or unpinned, once it is done
  std::vector<Mark> steps;       // of reported lanes
  std::vector<Mark> nodes;       // that are watched
  TaskCompany company;
};

// The tasks in flight on one worker, oldest first: a ring, because a queue is FIFO. Records are reused.
class TaskLog {
 public:
  // For `capacity` tasks at least.
  TaskLog(WorkerId worker, std::uint32_t capacity) : worker_(worker), records_(std::bit_ceil(capacity)) {}

  TaskRecord& begin(CellTypeId type) {  // the next task
    TaskRecord& record = at(++submitted_);
    record.seq = submitted_;
    record.type = type;
    record.worker = worker_;
    record.cost_us = 0;
    record.ended.clear();
    record.touched.clear();
    record.steps.clear();
    record.nodes.clear();
    record.company.joined.clear();
    record.company.left.clear();
    return record;
  }
  void commit(double cost_us) {
    at(submitted_).cost_us = cost_us;
    ahead_us_ += cost_us;
  }
  void abandon() { --submitted_; }  // the task that was begun turned out to be empty
  TaskRecord& at(TaskSeq seq) { return records_[seq & (records_.size() - 1)]; }
  const TaskRecord& at(TaskSeq seq) const { return records_[seq & (records_.size() - 1)]; }
  void finish_oldest() {
    ahead_us_ -= at(++completed_).cost_us;
    if (completed_ == submitted_) ahead_us_ = 0;
  }

  TaskSeq submitted() const { return submitted_; }
  TaskSeq completed() const { return completed_; }
  std::uint32_t in_flight() const { return static_cast<std::uint32_t>(submitted_ - completed_); }
  double ahead_us() const { return ahead_us_; }

 private:
  WorkerId worker_;
  std::vector<TaskRecord> records_;
  TaskSeq submitted_ = 0, completed_ = 0;
  double ahead_us_ = 0;
};

}  // namespace volvox
