#pragma once

#include <cstdint>

namespace volvox::cpu {

// How to measure the time that a thread is busy with something.
enum class BusyClock : std::uint8_t {
  kWall,  // steady clock, some 20 ns a reading: for work so short that losing the core meanwhile is rare
  kCpu,   // CPU time of the thread, a system call of some 250 ns: exact
};

// Nanoseconds on the clock; only differences on one thread mean anything.
std::uint64_t read_clock(BusyClock clock);

}  // namespace volvox::cpu
