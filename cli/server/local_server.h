#pragma once

#include <memory>
#include <string>

#include "actors/process/server.h"
#include "base/error.h"
#include "monitoring/monitor.h"

namespace volvox {

// A server of one model within this process, on the CPU, that listens on a loopback port of its own: to run a
// model without a server. Owned and called by one thread.
class LocalServer {
 public:
  // `folder` holds the model; version 0 is its newest. Errors are those of loading it, and of starting.
  static Result<std::unique_ptr<LocalServer>> start(const std::string& folder, std::uint32_t version);

  const std::string& endpoint() const { return server_->endpoint(); }

 private:
  LocalServer() = default;

  Monitor monitor_{VOLVOX_VERSION};
  std::unique_ptr<Server> server_;
};

}  // namespace volvox
