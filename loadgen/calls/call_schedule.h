#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "shapes/random.h"

namespace volvox {

// How calls come and go, and when they speak.
struct CallRhythm {
  std::uint32_t calls = 1;  // at once; at least 1
  Duration period =
      std::chrono::milliseconds(32);  // between the frames of a call; at least CallSchedule::kTick
  Duration jitter{};     // a frame comes up to so much after its time, each differently; at most `period`
  double leaves = 0.01;  // fraction of the calls that leave and are replaced each second
  Duration ramp{};       // over which the first calls join; a period where it is shorter
  std::uint64_t seed = 1;
};

// A frame of a call, due now or before.
struct DueFrame {
  std::uint32_t call = 0;  // its slot, below CallSchedule::slots()
  bool first = false;      // a new call has joined in the slot
  bool last = false;       // the call leaves with it
  Duration due{};          // since the start
};

// Many calls, each of which says something every few milliseconds at a time of its own, must not cost a heap:
// a timing wheel (Varghese and Lauck, Hashed and Hierarchical Timing Wheels, SOSP 1987) has a list of calls
// for each tick, so that a frame costs a few operations whatever the number of calls, and nothing is
// allocated after construction, if the caller keeps its vector. Calls join at random times, so that their
// phases are random; they leave as a Poisson process, each time another call joins, and a call that has left
// keeps its slot until release(). Times are rounded up to ticks, but never drift. Pure: the caller says what
// the time is, which never goes back. One thread.
class CallSchedule {
 public:
  static constexpr Duration kTick = std::chrono::microseconds(100);
  static constexpr Duration kLongestPeriod = std::chrono::seconds(10);

  explicit CallSchedule(const CallRhythm& rhythm);

  // Appends the frames that are due by `now` since the start and were not before, in their order.
  void due(Duration now, std::vector<DueFrame>& out);
  // When something is due next; Duration::max() when nothing ever is.
  Duration next() const;

  // The call says nothing more, and another joins in its place, in a slot of its own.
  void hang_up(std::uint32_t call);
  // The slot of a call that said its last, or was hung up, may be used by another one.
  void release(std::uint32_t call);
  // Each call's next frame is its last, and nobody joins any more.
  void end();

  // Twice the calls, so that those that leave need not be waited for.
  std::uint32_t slots() const { return static_cast<std::uint32_t>(calls_.size()); }
  // Calls that go on, and slots in use.
  std::uint32_t live() const { return static_cast<std::uint32_t>(live_.size()); }
  std::uint32_t in_use() const { return in_use_; }
  std::uint64_t joined() const { return joined_; }
  std::uint64_t left() const { return left_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  enum class State : std::uint8_t {
    kFree,
    kLive,
    kLeaving,   // its next frame is the last
    kSilent,    // says nothing more; waits for release()
    kReleased,  // free as soon as the wheel has let it go
  };
  struct Call {
    Duration nominal{};           // of its next frame, without jitter
    std::uint32_t after = kNone;  // in the list of its tick
    std::uint32_t place = 0;      // among live_
    State state = State::kFree;
    bool begun = false;      // has had a frame
    bool scheduled = false;  // is in a list
  };

  std::uint64_t tick_of(Duration time) const;
  void run_tick(std::vector<DueFrame>& out);
  void change(Duration at);
  void join(Duration at);
  void leave(std::uint32_t call);
  void schedule(std::uint32_t call);
  void free(std::uint32_t call);

  CallRhythm rhythm_;
  SeededRandom random_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> free_, live_;
  std::vector<std::uint32_t> wheel_;   // first call of each tick's list, by tick modulo its size
  std::vector<Duration> first_joins_;  // descending
  std::uint64_t tick_ = 0;             // the last one that was run
  std::uint32_t in_use_ = 0, scheduled_ = 0;
  std::uint32_t owed_ = 0;  // joins that wait for a slot
  Duration next_leave_ = Duration::max();
  bool ended_ = false;
  std::uint64_t joined_ = 0, left_ = 0;
};

}  // namespace volvox
