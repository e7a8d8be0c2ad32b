#pragma once

#include <cstdint>
#include <string>

#include "config/schema.h"

namespace volvox {

enum class PlacementChoice : std::uint8_t { kBalance, kPack };

// Routers and nodes in processes of their own; see docs/cluster.md.
struct ClusterSection {
  std::string name = "volvox";            // nodes of another cluster are refused
  std::string listen = "127.0.0.1:7110";  // router: where nodes dial; beyond loopback with TLS only …
  bool insecure = false;                  // … or with this
  // PEM files; all of them, or none: links in the clear.
  std::string tls_certificate, tls_key;  // of this process
  std::string tls_ca;                    // who signs for the cluster
  std::string routers;                   // node: the routers to dial, HOST:PORT, separated by commas
  std::uint32_t max_routers = 8;         // node: addresses that those names stand for, all together
  PlacementChoice placement = PlacementChoice::kBalance;
  std::uint32_t report_ms = 100;         // node: how often it reports its load
  std::uint32_t suspect_ms = 400;        // router: a node silent for so long gets nothing new …
  std::uint32_t dead_ms = 1000;          // … and for so long, its requests are tried elsewhere
  std::uint32_t verdict_ms = 1000;       // router: what a session's home has to say what became of a part
  bool ready_needs_node = true;          // router: /readyz is 503 while no node takes requests
  std::uint32_t max_attempts = 3;        // router: at one request
  std::uint32_t max_nodes = 1024;        // router: members
  std::uint32_t max_connections = 4096;  // router: open at cluster.listen, before they say who they are
  std::uint32_t max_requests = 4096;     // node: of all routers together, in flight
  std::uint32_t max_request_mib = 1024;  // node: bytes of their bodies
  std::uint32_t max_queued_mib = 256;    // waiting to be sent on one link, beyond which nothing new begins
  std::uint32_t join_ms = 3000;          // router: for a TLS handshake, and then until the join
  std::uint32_t max_handshakes = 256;    // router: TLS handshakes under way …
  std::uint32_t max_newcomers = 64;      // … and peers that have not joined yet; the oldest give way

  bool operator==(const ClusterSection&) const = default;
};

// Everything that can be set of `volvox router` and `volvox node`.
struct ClusterConfig : ServeConfig {
  ClusterSection cluster;

  bool operator==(const ClusterConfig&) const = default;
};

}  // namespace volvox
