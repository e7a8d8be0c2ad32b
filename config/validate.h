#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/cluster.h"
#include "config/schema.h"

namespace volvox {

// What is wrong with a value, and where it stands.
struct ConfigProblem {
  std::string key;      // "device.queues"
  std::string message;  // a sentence that says what to do
};

// The first problem of the configuration, if any: a number out of its range, an address that is none, values
// that contradict each other. Pure.
bool find_problem(const ServeConfig& config, ConfigProblem& problem);
bool find_problem(const ClusterConfig& config, ConfigProblem& problem);

// For those who said so on the command line: every door of the server's may be reached from beyond loopback
// by whoever likes.
void leave_doors_open(ServeConfig& config);

// The same as a Status: "device.queues: must be …".
Status validate(const ServeConfig& config);
Status validate(const ClusterConfig& config);

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// "127.0.0.1:7101" or "[::1]:7101".
Result<HostPort> parse_host_port(std::string_view text);

// Where an HTTP listener binds: a TCP address, or a Unix socket.
struct ListenAddress {
  std::string path;  // of the socket; empty: it is TCP
  HostPort tcp;
};

// "127.0.0.1:7101", "[::1]:7101", or "unix:/run/volvox/http.sock".
Result<ListenAddress> parse_listen_address(std::string_view text);

// Whether only this machine reaches a listener at such an address: it is on loopback, a Unix socket, or none.
bool is_closed_http(const std::string& listen);

// Accepts "tcp://HOST:PORT", "ipc://PATH" and "inproc://NAME", as ZeroMQ understands them.
Status check_endpoint(std::string_view endpoint);

}  // namespace volvox
