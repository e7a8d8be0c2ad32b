#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "monitoring/http/descriptor.h"
#include "monitoring/http/http_relay.h"

namespace volvox {

// One connection of a door's, from its beginning to its end. Used by the door's thread.
struct DoorConnection {
  enum class State : std::uint8_t { kAsking, kPage, kInLine, kPassed, kAnswering, kLeaving };

  Descriptor socket;
  std::string client;
  State state = State::kAsking;
  std::string in{}, out{};
  std::size_t written = 0;
  bool with_body = true;
  std::uint16_t pass_to = 0;
  TimePoint leaves{};  // since when
  std::optional<HttpRelay> relay{};
};

}  // namespace volvox
