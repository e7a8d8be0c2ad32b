#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace volvox {

// The ways by which requests come into a process.
enum class Door : std::uint8_t {
  kClients,  // server.listen
  kHttp,     // http.listen
  kCluster,  // a node's links to its routers
};
inline constexpr std::array kDoors{Door::kClients, Door::kHttp, Door::kCluster};

// As metrics name them.
constexpr const char* to_string(Door door) {
  constexpr std::array kNames{"zeromq", "http", "cluster"};
  return kNames[static_cast<std::size_t>(door)];
}

}  // namespace volvox
