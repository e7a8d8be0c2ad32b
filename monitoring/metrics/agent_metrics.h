#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace volvox {

// How a load that an agent had taken came to its end.
enum class AgentLoadEnd : std::uint8_t {
  kDone,    // as planned
  kCut,     // before its time, by its coordinator, a bound of the agent's, or the agent's own end
  kUnbegun  // nothing was sent: the target could not be reached, or it was called off before the start
};
inline constexpr std::size_t kAgentLoadEnds = 3;

// What an agent did not do, whoever asked.
enum class AgentRefusal : std::uint8_t {
  kBusy,        // with another load
  kLimit,       // the load went beyond what its operator allows
  kStart,       // at an instant that is not within a minute of when it was told, or without its load
  kUnreadable,  // a message that makes no sense, or is too large
  kConnection   // somebody without a key of a coordinator, or one connection too many
};
inline constexpr std::size_t kAgentRefusals = 5;

// Requests of one load.
struct AgentRequests {
  std::uint64_t offered = 0, completed = 0, failed = 0;
};

// What its door has refused since it was opened.
struct AgentDoorCounts {
  std::uint64_t connections = 0, messages = 0;
};

// What is counted of an agent of the load generator. One thread; the registry is read by any.
class AgentMetrics {
 public:
  explicit AgentMetrics(prometheus::Registry& registry);

  // A load, from when it was taken: how far it is, and its end.
  void begin();
  void set(const AgentRequests& so_far);
  void end(AgentLoadEnd how);

  void refuse(AgentRefusal why) { counter_of(why).Increment(); }
  void set_door(const AgentDoorCounts& counts);

 private:
  prometheus::Counter& counter_of(AgentRefusal why) { return *refused_[static_cast<std::size_t>(why)]; }

  prometheus::Gauge& busy_;
  std::array<prometheus::Counter*, kAgentLoadEnds> loads_{};
  std::array<prometheus::Counter*, kAgentRefusals> refused_{};
  prometheus::Counter& offered_;
  prometheus::Counter* completed_;
  prometheus::Counter* failed_;
  AgentRequests before_;
  AgentDoorCounts door_;
};

}  // namespace volvox
