#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/error.h"
#include "batching/request.h"
#include "device/device.h"
#include "device/task_ring.h"
#include "simulation/bench/engine_setup.h"

namespace volvox::bench {

// Requests made beside the engine's thread, as those who take requests in make them: inputs are staged,
// memory for results is taken and the shape is unfolded by a thread of the feed's own, some hundreds ahead.
// What is given back is released there, too. take() and give_back() are called by one thread; the setup must
// outlive the feed, and so must the feed all that runs of its requests.
class RequestFeed {
 public:
  // What a request has of the device's.
  struct Memory {
    ResultBlock results;
    std::unique_ptr<InputPages> inputs;
  };
  struct Ready {
    std::size_t sample = 0;
    Request request;
    Memory memory;
  };

  RequestFeed(EngineSetup& setup, std::uint64_t seed);
  ~RequestFeed();
  RequestFeed(const RequestFeed&) = delete;
  RequestFeed& operator=(const RequestFeed&) = delete;

  // Waits until there is one. An error: it could not be made, nor will another one.
  Result<Ready> take();
  void give_back(Memory memory);
  // CPU time of its thread so far. Any thread.
  std::uint64_t thread_cpu_ns();
  // Of the thread that takes, while there was nothing to take.
  std::uint64_t waiting_cpu_ns() const { return waiting_cpu_ns_; }

 private:
  static constexpr std::size_t kAhead = 512;

  void serve(std::uint64_t seed);
  Result<Ready> make(std::size_t sample);
  bool make_next(std::size_t sample);

  EngineSetup& setup_;
  TaskRing<Ready> ready_{kAhead};
  TaskRing<Memory> done_{kAhead};
  std::atomic<bool> ending_{false}, failed_{false};
  Error error_;  // of what failed
  std::uint64_t waiting_cpu_ns_ = 0;
  std::atomic<std::uint64_t> cpu_ns_at_end_{0};
  std::thread thread_;
};

}  // namespace volvox::bench
