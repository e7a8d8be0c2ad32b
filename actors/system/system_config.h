#pragma once

#include <chrono>
#include <cstdint>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actors/cluster/cluster_packet.h"
#include "actors/cluster/cluster_transport.h"

namespace volvox {

// CAF's scheduler shall be Coordinator (actors/system/coordinator.h).
void load_coordinator(caf::actor_system_config& config);

// How CAF runs here. With a transport, which outlives the system, processes can be connected.
class SystemConfig : public caf::actor_system_config {
 public:
  explicit SystemConfig(std::uint32_t threads, const ClusterTransport* transport = nullptr) {
    load_coordinator(*this);
    set("scheduler.max-threads", std::size_t{threads});
    // Messages that an actor takes in before others have their turn. Without a bound one to whom messages
    // come as fast as it takes them in, as the pieces of large ones do, keeps the thread from all others
    // meanwhile.
    set("scheduler.max-throughput", std::size_t{16});
    if (transport == nullptr) return;
    transport->configure(*this);
    add_message_type<ClusterPacket>("volvox::ClusterPacket");
    // Without both, CAF never notices a silent peer; with shorter ones it loses good connections.
    set("middleman.heartbeat-interval", caf::timespan(std::chrono::milliseconds(250)));
    set("middleman.connection-timeout", caf::timespan(std::chrono::seconds(1)));
    // CAF forgets a closed connection only after the messages that its workers still read, by the number of
    // its descriptor, which another node's connection may have by then: that node would be cut off. Without
    // workers, which messages of bytes do not need, it forgets at once.
    set("middleman.workers", std::size_t{0});
  }
};

}  // namespace volvox
