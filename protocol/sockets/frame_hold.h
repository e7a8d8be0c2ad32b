#pragma once

namespace volvox {

// What is kept until ZeroMQ has let go of a frame's memory. Destroyed on any thread.
class FrameHold {
 public:
  FrameHold() = default;
  virtual ~FrameHold() = default;
  FrameHold(const FrameHold&) = delete;
  FrameHold& operator=(const FrameHold&) = delete;
};

}  // namespace volvox
