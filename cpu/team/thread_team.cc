#include "cpu/team/thread_team.h"

#include <algorithm>
#include <utility>

#include "base/spin.h"

namespace volvox::cpu {
namespace {

// claims = epoch (16 bits) · count (24) · next (24).
constexpr std::uint32_t kCountBits = 24;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

std::uint64_t open_claims(std::uint32_t epoch, std::uint32_t count) {
  return std::uint64_t{epoch} << (2 * kCountBits) | std::uint64_t{count} << kCountBits;
}
std::uint32_t next_of(std::uint64_t claims) {
  return static_cast<std::uint32_t>(claims & kCountMask);
}
std::uint32_t count_of(std::uint64_t claims) {
  return static_cast<std::uint32_t>(claims >> kCountBits & kCountMask);
}

}  // namespace

ThreadTeam::ThreadTeam(std::uint32_t threads) : slots_(std::clamp(threads, 1U, kMaxThreads)) {
  helpers_.reserve(slots_.size() - 1);
  try {
    for (std::uint32_t t = 1; t < size(); ++t) helpers_.emplace_back([this, t] { help(t); });
  } catch (...) {
    end_helpers();
    throw;
  }
}

ThreadTeam::~ThreadTeam() {
  end_helpers();
}

void ThreadTeam::end_helpers() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::run(const TeamJob& job, std::span<const std::uint32_t> counts) {
  if (size() == 1) return run_alone(job, counts);
  std::uint32_t total = 0;
  job_ = job;
  finished_.store(0, std::memory_order_relaxed);
  const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
  for (std::uint32_t o = 0; o < size(); ++o) {
    total += counts[o];
    slots_[o].claims.store(open_claims(epoch & 0xffffU, counts[o]), std::memory_order_release);
  }
  // A helper counts itself as a sleeper before it looks at the epoch a last time.
  epoch_.store(epoch);
  if (sleepers_.load() > 0) wake_helpers(job.spreads);
  work(0);
  await_units(total);
  if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadTeam::wake_helpers(bool spread) {
  for (std::uint32_t t = 1; spread && t < size(); ++t)
    slots_[t].place.keep_away_from_here(helpers_[t - 1].native_handle());
  epoch_.notify_all();
}

void ThreadTeam::run_alone(const TeamJob& job, std::span<const std::uint32_t> counts) {
  const std::uint64_t begin = read_clock(job.clock);
  for (std::uint32_t o = 0; o < counts.size(); ++o) {
    for (std::uint32_t unit = 0; unit < counts[o]; ++unit) job.run(job.context, o, unit, 0);
  }
  slots_[0].busy_ns.fetch_add(read_clock(job.clock) - begin, std::memory_order_relaxed);
}

std::uint64_t ThreadTeam::busy_ns() const {
  std::uint64_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.busy_ns.load(std::memory_order_relaxed);
  return sum;
}

void ThreadTeam::help(std::uint32_t thread) {
  for (;;) {
    // The epoch first: whoever has seen that of the end then sees that it is the end, and waits for no other.
    const std::uint32_t seen = epoch_.load();
    if (stop_.load()) return;
    work(thread);
    await_epoch(seen, slots_[thread].place);
  }
}

void ThreadTeam::work(std::uint32_t thread) {
  std::uint64_t begin = 0;
  BusyClock clock{};
  bool any = false;
  for (std::uint32_t i = 0; i < size(); ++i) {
    const std::uint32_t owner = (thread + i) % size();
    std::uint32_t unit = 0;
    while (claim(owner, unit)) {
      const TeamJob job = job_;
      if (!any) {
        clock = job.clock;
        begin = read_clock(clock);
        any = true;
      }
      run_unit(job, owner, unit, thread);
    }
  }
  if (any) slots_[thread].busy_ns.fetch_add(read_clock(clock) - begin, std::memory_order_relaxed);
}

// The job ends when all of its units have, also those that found no memory.
void ThreadTeam::run_unit(const TeamJob& job, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread) {
  try {
    job.run(job.context, owner, unit, thread);
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
  finish_unit();
}

bool ThreadTeam::claim(std::uint32_t owner, std::uint32_t& unit) {
  std::atomic<std::uint64_t>& claims = slots_[owner].claims;
  // Looking first keeps `next` from running into the count's bits.
  const std::uint64_t seen = claims.load(std::memory_order_acquire);
  if (next_of(seen) >= count_of(seen)) return false;
  const std::uint64_t mine = claims.fetch_add(1, std::memory_order_acq_rel);
  unit = next_of(mine);
  return unit < count_of(mine);
}

void ThreadTeam::finish_unit() {
  finished_.fetch_add(1);
  if (executor_sleeps_.load()) finished_.notify_one();
}

void ThreadTeam::await_units(std::uint32_t total) {
  const auto done = [&] { return finished_.load(std::memory_order_acquire) == total; };
  if (spin_until(done, kSpin)) return;
  executor_sleeps_.store(true);
  for (std::uint32_t seen = finished_.load(); seen != total; seen = finished_.load()) finished_.wait(seen);
  executor_sleeps_.store(false);
}

void ThreadTeam::await_epoch(std::uint32_t seen, WakePlace& place) {
  const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (spin_until(changed, kSpin)) return;
  place.sleeps();
  sleepers_.fetch_add(1);
  epoch_.wait(seen);
  sleepers_.fetch_sub(1);
  place.is_awake();
}

}  // namespace volvox::cpu
