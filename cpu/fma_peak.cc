#include "cpu/fma_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "cpu/kernel/kernels.h"
#include "cpu/team/thread_team.h"

namespace volvox::cpu {
namespace {

using Clock = std::chrono::steady_clock;

struct Burst {
  const Kernels* kernels;
  std::uint64_t rounds;
  std::atomic<std::uint64_t>* flops;
  float* sinks;  // one for each thread, a cache line apart
};

void run_burst(const void* context, std::uint32_t, std::uint32_t, std::uint32_t thread) {
  const Burst& burst = *static_cast<const Burst*>(context);
  burst.flops->fetch_add(burst.kernels->fma_burst(burst.rounds, burst.sinks + 16 * thread));
}

double run_once(ThreadTeam& team, const Kernels& kernels, std::uint64_t rounds) {
  std::atomic<std::uint64_t> flops{0};
  std::vector<float> sinks(16 * team.size(), 1.0F);
  const Burst burst{&kernels, rounds, &flops, sinks.data()};
  const std::vector<std::uint32_t> counts(team.size(), 16);
  const auto begin = Clock::now();
  team.run({run_burst, &burst, BusyClock::kWall}, counts);
  const std::chrono::duration<double, std::nano> ns = Clock::now() - begin;
  return static_cast<double>(flops.load()) / ns.count();
}

}  // namespace

double measure_fma_peak_gflops(Isa isa, std::uint32_t threads, std::uint32_t milliseconds) {
  const Kernels& kernels = *kernels_for(isa);
  ThreadTeam team(threads);
  const std::uint64_t rounds = kernels.isa == Isa::kPortable ? 2'000 : 50'000;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  double best = 0;
  do {
    best = std::max(best, run_once(team, kernels, rounds));
  } while (Clock::now() < end);
  return best;
}

}  // namespace volvox::cpu
