#pragma once

#include <cstdint>
#include <memory>

namespace volvox::bench {

// The yardstick: one step of oneDNN's own LSTM, for `batch` rows, float32, on `threads` threads, with the
// weights in the layout and the instruction set that oneDNN prefers.
class OneDnnStep {
 public:
  // nullptr: this build has no oneDNN, or oneDNN cannot do it.
  static std::unique_ptr<OneDnnStep> make(std::uint32_t input, std::uint32_t hidden, std::uint32_t batch,
                                          std::uint32_t threads);
  virtual ~OneDnnStep() = default;
  virtual void run() = 0;  // blocks
};

}  // namespace volvox::bench
