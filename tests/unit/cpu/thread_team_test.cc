#include "cpu/team/thread_team.h"

#include <chrono>
#include <filesystem>
#include <iterator>
#include <new>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

namespace volvox::cpu {
namespace {

// Every unit of every owner leaves a mark; plain memory, so that a data race shows.
struct Marks {
  std::vector<std::vector<int>> of;  // [owner][unit]
  std::uint32_t threads;
  std::atomic<bool> bad_thread{false};
};

void mark(const void* context, std::uint32_t owner, std::uint32_t unit, std::uint32_t thread) {
  auto& marks = *const_cast<Marks*>(static_cast<const Marks*>(context));
  ++marks.of[owner][unit];
  if (thread >= marks.threads) marks.bad_thread = true;
}

void run_and_check(ThreadTeam& team, const std::vector<std::uint32_t>& counts) {
  Marks marks;
  marks.threads = team.size();
  for (std::uint32_t n : counts) marks.of.emplace_back(n, 0);
  team.run({mark, &marks, BusyClock::kWall}, counts);
  for (const auto& units : marks.of) {
    for (int times : units) ASSERT_EQ(times, 1);
  }
  ASSERT_FALSE(marks.bad_thread);
}

TEST(ThreadTeam, RunsEveryUnitExactlyOnce) {
  for (std::uint32_t threads : {1U, 2U, 3U, 7U}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    run_and_check(team, std::vector<std::uint32_t>(threads, 0));
    run_and_check(team, std::vector<std::uint32_t>(threads, 1));
    run_and_check(team, std::vector<std::uint32_t>(threads, 1000));
  }
}

TEST(ThreadTeam, TreatsZeroThreadsAsOne) {
  ThreadTeam team(0);
  EXPECT_EQ(team.size(), 1U);
  run_and_check(team, {5});
}

// Many short jobs back to back, with pauses long enough for helpers to fall asleep, of all shapes.
TEST(ThreadTeam, SurvivesStress) {
  std::mt19937 random(7);
  for (std::uint32_t threads : {2U, 4U}) {
    ThreadTeam team(threads);
    for (int job = 0; job < 4000; ++job) {
      std::vector<std::uint32_t> counts(threads);
      for (std::uint32_t& n : counts) n = random() % 8;
      run_and_check(team, counts);
      if (job % 200 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
}

// The caller's units are short, the helper's are longer than anybody spins.
void dawdle(const void* context, std::uint32_t, std::uint32_t, std::uint32_t thread) {
  std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 1 : 4));
  if (thread != 0) ++*const_cast<std::atomic<int>*>(static_cast<const std::atomic<int>*>(context));
}

TEST(ThreadTeam, WaitsForASlowHelperAsleep) {
  ThreadTeam team(2);
  std::atomic<int> helped{0};
  // On a busy machine the helper may come too late for a job.
  for (int i = 0; i < 2000 && helped.load() < 5; ++i)
    team.run({dawdle, &helped, BusyClock::kCpu}, {{4U, 4U}});
  EXPECT_GE(helped.load(), 5);
}

struct Sum {
  std::vector<std::uint64_t> parts;  // one for each thread
};
void count_thread(const void* context, std::uint32_t, std::uint32_t, std::uint32_t thread) {
  ++const_cast<Sum*>(static_cast<const Sum*>(context))->parts[thread];
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// An owner whose thread has no units left takes from the others: all units belong to owner 0 here.
TEST(ThreadTeam, OthersTakeWhatIsLeft) {
  ThreadTeam team(2);
  Sum sum{std::vector<std::uint64_t>(2)};
  team.run({count_thread, &sum, BusyClock::kWall}, {{40U, 0U}});
  EXPECT_EQ(sum.parts[0] + sum.parts[1], 40U);
  EXPECT_GT(sum.parts[1], 0U);
}

// A unit that finds no memory, on whichever thread: the others run, the caller hears of it, the team goes on.
TEST(ThreadTeam, ThrowsWhatAUnitThrew) {
  ThreadTeam team(3);
  struct Job {
    std::atomic<int> ran{0};
    std::uint32_t bad_owner = 0;
  };
  const auto run = [](const void* context, std::uint32_t owner, std::uint32_t unit, std::uint32_t) {
    auto& job = *const_cast<Job*>(static_cast<const Job*>(context));
    ++job.ran;
    if (owner == job.bad_owner && unit % 2 == 0) throw std::bad_alloc();
  };
  const std::vector<std::uint32_t> counts{5, 5, 5};
  for (std::uint32_t bad = 0; bad < team.size(); ++bad) {
    Job job;
    job.bad_owner = bad;
    EXPECT_THROW(team.run({run, &job, BusyClock::kWall}, counts), std::bad_alloc);
    EXPECT_EQ(job.ran, 15);
    run_and_check(team, counts);
  }
}

struct Places {
  std::vector<cpu_set_t> allowed;
};

void note_place(const void* context, std::uint32_t, std::uint32_t, std::uint32_t thread) {
  auto& places = *const_cast<Places*>(static_cast<const Places*>(context));
  pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), &places.allowed[thread]);
  std::this_thread::sleep_for(std::chrono::microseconds(200));
}

// Where a helper wakes is seen to; where it may run is not changed, whether it slept or not.
TEST(ThreadTeam, HelpersMayRunWhereTheyMight) {
  cpu_set_t mine;
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof mine, &mine), 0);
  ThreadTeam team(3);
  for (int i = 0; i < 60; ++i) {
    Places places{std::vector<cpu_set_t>(3, mine)};
    TeamJob job{note_place, &places, BusyClock::kWall};
    job.spreads = true;
    team.run(job, {{2U, 2U, 2U}});
    for (const cpu_set_t& allowed : places.allowed) EXPECT_TRUE(CPU_EQUAL(&allowed, &mine));
    if (i % 3 != 0) std::this_thread::sleep_for((i % 3) * ThreadTeam::kSpin);
  }
}

TEST(ThreadTeam, RunsAloneOnTheCaller) {
  ThreadTeam team(3);
  Sum sum{std::vector<std::uint64_t>(3)};
  team.run_alone({count_thread, &sum, BusyClock::kWall}, {{1U, 2U, 3U}});
  EXPECT_EQ(sum.parts, (std::vector<std::uint64_t>{6, 0, 0}));
  EXPECT_GT(team.busy_ns(), 0U);
}

std::size_t threads_of_this_process() {
  using Entries = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Entries("/proc/self/task"), Entries()));
}

TEST(ThreadTeam, EndsWhileHelpersSleepOrSpin) {
  const std::size_t before = threads_of_this_process();
  for (int i = 0; i < 50; ++i) {
    ThreadTeam team(3);
    if (i % 2 == 0) run_and_check(team, {1, 1, 1});
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  // The kernel takes a thread that was joined off the list a moment later.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (threads_of_this_process() > before && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(threads_of_this_process(), before) << "of 50 teams, each has ended its helpers";
}

}  // namespace
}  // namespace volvox::cpu
