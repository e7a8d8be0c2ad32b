#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "batching/request.h"

namespace volvox {

// Whole requests that wait to run together, in groups that take turns: those of one model and one bucket. For
// policies that let a group in, and the next one when nothing of it is left to submit. Pure; not thread-safe.
class GroupTurns {
 public:
  using Group = std::pair<ModelId, std::uint32_t>;  // a model, and a bucket of its requests

  // So many requests of a group are let in at once.
  explicit GroupTurns(std::uint32_t most) : most_(std::max(1U, most)) {}

  void add(Group group, RequestId request) { waiting_[group].push_back(request); }
  void remove(Group group, RequestId request) {
    const auto it = waiting_.find(group);
    if (it == waiting_.end()) return;
    std::erase(it->second, request);
    if (it->second.empty()) waiting_.erase(it);
  }

  // let_in(group, requests) → how many entered, which it has removed here: of the next group, oldest first,
  // or, where none of these can, of the one after it, so that a model without free memory does not keep the
  // worker from the others.
  template <class LetIn>
  void admit_next(LetIn let_in) {
    std::size_t entered = 0;
    for (std::size_t looks = waiting_.size(); looks > 0 && entered == 0 && !waiting_.empty(); --looks) {
      auto turn = waiting_.upper_bound(last_);
      if (turn == waiting_.end()) turn = waiting_.begin();
      last_ = turn->first;
      const auto& ids = turn->second;
      const std::size_t count = std::min<std::size_t>(ids.size(), most_);
      next_.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
      entered = let_in(last_, next_);
    }
  }

 private:
  const std::uint32_t most_;
  std::map<Group, std::deque<RequestId>> waiting_;
  Group last_{0, 0};
  std::vector<RequestId> next_;
};

}  // namespace volvox
