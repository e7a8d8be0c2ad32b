#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "base/error.h"
#include "base/time.h"

namespace volvox {

// What a router knows of one of its nodes, for the operator.
struct MemberView {
  struct Model {
    std::string name;
    std::uint32_t version = 0;
    std::uint64_t digest = 0;
    bool gets_traffic = false;  // false: others serve other weights under this number
  };
  std::string name;
  std::string state;                                  // "alive", "suspect", "draining"
  std::size_t in_flight = 0;                          // requests of this router
  Duration work{};                                    // under way there, by estimate
  std::uint64_t request_credit = 0, byte_credit = 0;  // that this router has left there
  std::vector<Model> models;
};

// operator → cluster router. `tell` is called once, on the router's thread; it must not block.
struct ShowMembers {
  std::function<void(std::vector<MemberView>)> tell;  // by name
};
// The node gets nothing new from this router, and is asked to leave all of them: as SIGTERM does.
// INVALID_ARGUMENT: no member has this name.
struct DrainMember {
  std::string name;
  std::function<void(Status)> tell;
};

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::ShowMembers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::DrainMember)
