#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "cpu/team/busy_clock.h"
#include "cpu/team/wake_place.h"

namespace volvox::cpu {

// A piece of work in units that may run in any order and on any thread.
struct TeamJob {
  // Runs unit `unit` of owner `owner` on thread `thread` (0 is the caller of run()).
  void (*run)(const void* context, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread) = nullptr;
  const void* context = nullptr;
  BusyClock clock = BusyClock::kCpu;  // how its time is measured
  bool spreads = false;               // it is long enough to see to it where its helpers wake (WakePlace)
};

// Problem: a task of some ten microseconds to milliseconds must run on several threads, again and again, on
// machines where a thread may lose its core at any moment. A static partition then waits for the thread that
// sleeps; a single shared queue sends every block of weights to a different core's cache each time.
// Tool: every thread owns a range of units, the same one each time (DeepCPU §4.3: what a core computes with
// stays in its private cache), claims them one by one from an atomic counter, and when it has none left,
// claims from the others: a preempted thread costs one unit. Waiting threads spin for at most kSpin, then
// sleep.
// Threads: run() by one thread at a time, the executor, which works along as thread 0. The team owns the
// size() - 1 helpers; they end with it.
class ThreadTeam {
 public:
  static constexpr std::chrono::microseconds kSpin{30};
  static constexpr std::uint32_t kMaxUnits = (1U << 24) - 2;  // of one owner
  static constexpr std::uint32_t kMaxThreads = 1024;

  // `threads` counts the caller of run(); 0 means 1.
  explicit ThreadTeam(std::uint32_t threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }

  // Runs counts[o] units for each owner o < size(), and returns when all are done. What the caller wrote
  // before is visible to the units, what they wrote is visible to the caller afterwards. Throws what one of
  // them threw, on whichever thread, when all have ended.
  void run(const TeamJob& job, std::span<const std::uint32_t> counts);
  // The same on the calling thread alone: for work that is shorter than waking anybody.
  void run_alone(const TeamJob& job, std::span<const std::uint32_t> counts);

  // CPU time that all threads have spent inside units. Any thread; may lag by the unit that just ended.
  std::uint64_t busy_ns() const;

 private:
  // One for each owner, on a cache line of its own. `claims` is {epoch, count, next}: a claim that returns
  // next < count is valid for the job of that epoch, and that job cannot end before its unit does; any other
  // claim touched nothing. So a late thread can never run a unit with the fields of another job.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> claims{0};
    std::atomic<std::uint64_t> busy_ns{0};
    WakePlace place;  // of the helper
  };

  void help(std::uint32_t thread);
  void end_helpers();
  void work(std::uint32_t thread);
  void run_unit(const TeamJob& job, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread);
  bool claim(std::uint32_t owner, std::uint32_t& unit);
  void finish_unit();
  void await_units(std::uint32_t total);
  void await_epoch(std::uint32_t seen, WakePlace& place);
  void wake_helpers(bool spread);

  std::vector<Slot> slots_;
  TeamJob job_;
  std::exception_ptr failure_;  // of a unit of the job; the first one's
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<std::uint32_t> finished_{0};
  std::atomic<bool> executor_sleeps_{false}, failed_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace volvox::cpu
