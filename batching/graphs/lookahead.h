#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "batching/ready_queues.h"
#include "batching/request_table.h"

namespace volvox {

// Live graphs lie scattered in memory, a task takes a node or two of each, and what a visit reads is reached
// by pointers, one after the other. Each visit fetches a link of that chain for each of the next four: of the
// fourth its record, …, of the next one the edges of the node that it will take first.
//
// Always inline: a function that only fetches has no effect that g++ knows, and would be left out.
class Lookahead {
 public:
  Lookahead(const ReadyQueues& queues, const RequestTable& requests) : queues_(queues), requests_(requests) {}

  // The entry's turn has come.
  [[gnu::always_inline]] void visit(EntryId id) {
    if (id != expected_) begin(id);
    expected_ = queues_[id].next;
    next_[0] = next_[1];
    next_[1] = next_[2];
    next_[2] = next_[3];
    look_further();
    __builtin_prefetch(next_[2].run->groups.data());
    next_[1].node = first_node(next_[1]);
    next_[1].run->graph.prefetch(next_[1].node);
    __builtin_prefetch(next_[1].run->nodes.data() + next_[1].node);
    next_[0].run->graph.prefetch_edges(next_[0].node);
  }

 private:
  struct Visit {
    const GraphRun* run = nullptr;
    std::uint32_t group = 0;
    std::uint32_t node = 0;  // that it will most likely take first
  };

  // The entry is the first of a row of them.
  void begin(EntryId id) {
    far_ = id;
    const ReadyQueues::Entry& entry = queues_[id];
    next_.fill({&requests_[entry.request].graph, entry.item, 0});
    for (std::size_t i = 1; i < next_.size(); ++i) {
      look_further();
      next_[i] = next_.back();
    }
  }

  // At the end of the row, the last stays the last.
  [[gnu::always_inline]] void look_further() {
    const EntryId next = queues_[far_].next;
    if (next == kNoEntry) return;
    far_ = next;
    const ReadyQueues::Entry& entry = queues_[next];
    const LiveRequest& live = requests_[entry.request];
    __builtin_prefetch(&live.home);
    __builtin_prefetch(&live.graph);
    __builtin_prefetch(&live.graph.groups);
    next_.back() = {&live.graph, entry.item, 0};
  }

  [[gnu::always_inline]] static std::uint32_t first_node(const Visit& visit) {
    if (!visit.run->opened) return 0;
    const std::uint32_t v = visit.run->groups[visit.group].head;
    return v == kNoNode ? visit.run->next : v;
  }

  const ReadyQueues& queues_;
  const RequestTable& requests_;
  std::array<Visit, 4> next_{};
  EntryId expected_ = kNoEntry, far_ = kNoEntry;
};

}  // namespace volvox
