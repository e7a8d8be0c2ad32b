#pragma once

#include <functional>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/cluster/router_addresses.h"

namespace volvox {

// finder → its owner: the addresses that the routers have now, each once.
struct RoutersFound {
  std::vector<std::string> addresses;
};

using LookUp = std::function<Result<std::vector<std::string>>(const std::string&)>;

struct FinderSetup {
  std::vector<std::string> routers;  // "HOST:PORT" each
  caf::actor owner;
  LookUp look_up = look_up_routers;
  caf::timespan period = std::chrono::seconds(5);
};

using FindAtom = caf::atom_constant<caf::atom("find")>;

// Looks the routers' names up, once FindAtom comes and then again every period, on a thread of its own, for
// that may block. A name that cannot be looked up keeps what it stood for last. What goes wrong is logged
// when it is something new.
caf::actor spawn_router_finder(caf::actor_system& system, FinderSetup setup);

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::RoutersFound)
