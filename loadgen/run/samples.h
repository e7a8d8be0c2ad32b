#pragma once

#include <cstdint>
#include <vector>

#include "protocol/messages.h"
#include "shapes/random.h"

namespace volvox {

// An answer kept for verification: which request, and the reply's body, which owns its bytes.
struct AnswerSample {
  std::uint64_t index = 0;
  ReplyBody body;
};

// Answers cannot all be kept, nor may only the first be checked: a uniform sample of all that were offered,
// in bounded memory (Vitter's Algorithm R, Random Sampling with a Reservoir, TOMS 1985). One thread at a
// time.
class AnswerSamples {
 public:
  AnswerSamples(std::size_t capacity, std::uint64_t seed) : capacity_(capacity), random_(seed) {}

  void offer(std::uint64_t index, const ReplyBody& body) {
    ++seen_;
    if (kept_.size() < capacity_) {
      kept_.push_back({index, body});
    } else if (capacity_ > 0) {
      const std::uint64_t place = random_.below(seen_);
      if (place < capacity_) kept_[place] = {index, body};
    }
  }

  std::vector<AnswerSample> take() { return std::move(kept_); }

 private:
  std::size_t capacity_;
  std::uint64_t seen_ = 0;
  SeededRandom random_;
  std::vector<AnswerSample> kept_;
};

}  // namespace volvox
