#pragma once

#include <cstdint>
#include <string>

#include <caf/all.hpp>

namespace volvox {

// dialer → its owner: here is the router.
struct Dialed {
  std::uint32_t seat = 0;  // the owner's number for it
  caf::actor router;
};

using DialAtom = caf::atom_constant<caf::atom("dial")>;

// Opens connections to one router, on a thread of its own, for connecting blocks. On DialAtom it resolves the
// address anew and tries until somebody answers, then tells its owner. CAF's own dial would block all others
// of the process for minutes when a host does not answer, so each address is proven first.
caf::actor spawn_cluster_dialer(caf::actor_system& system, std::string address, std::uint32_t seat,
                                caf::actor owner);

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::Dialed)
