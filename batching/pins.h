#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "batching/model_loads.h"
#include "batching/ready_queues.h"
#include "batching/request_table.h"
#include "batching/waiting_rooms.h"
#include "batching/worker.h"

namespace volvox {

// Where each request runs. While a task with a row of it is in flight all its nodes go to that task's worker,
// so that submission order is enough for what its nodes read of each other (docs/architecture.md); afterwards
// it keeps its home until another worker takes it. Not thread-safe.
class Pins {
 public:
  Pins(RequestTable& requests, ReadyQueues& queues, std::vector<Worker>& workers, ModelLoads& models,
       WaitingRooms& rooms)
      : requests_(requests), queues_(queues), workers_(workers), models_(models), rooms_(rooms) {}

  // The task that the worker's log has begun takes rows of the request.
  void claim(std::uint32_t index, WorkerId worker, TimePoint now) {
    LiveRequest& live = requests_[index];
    if (!std::exchange(live.started, true)) {
      live.first_submit = now;
      --models_[live.request.model].waiting;
      rooms_.moved_on(index);
    }
    if (live.home != worker) move(index, worker);
    if (live.request.traced) {
      TaskLog& log = workers_[worker].log;
      log.at(log.submitted()).company.joined.push_back(live.request.tag);
    }
  }
  // Its queued entries go along. kNoWorker: any worker may take it.
  void move(std::uint32_t index, WorkerId worker);
  // The task has rows of the request, `nodes` of them of a graph, which are out of the queues and cohorts
  // now: when it is done the request may be over, or free to move.
  void touch(std::uint32_t index, TaskRecord& record, std::uint32_t nodes) {
    LiveRequest& live = requests_[index];
    live.last_seq = std::max(live.last_seq, record.seq);
    record.touched.push_back({index, nodes});
    if (live.request.traced) record.company.left.push_back(live.request.tag);
  }

  // The place in the queues where its entries belong.
  WorkerId place(const LiveRequest& live) const { return live.home == kNoWorker ? queues_.any() : live.home; }
  bool in_flight(const LiveRequest& live) const {
    if (live.home == kNoWorker) return false;
    return live.cohort_rows > 0 || live.last_seq > workers_[live.home].log.completed();
  }

 private:
  RequestTable& requests_;
  ReadyQueues& queues_;
  std::vector<Worker>& workers_;
  ModelLoads& models_;
  WaitingRooms& rooms_;
};

}  // namespace volvox
