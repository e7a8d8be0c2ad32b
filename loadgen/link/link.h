#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/requests/request_source.h"
#include "protocol/request.h"

namespace volvox {

// What a link did by itself so far.
struct LinkCounts {
  std::uint64_t duplicates = 0;  // replies not delivered: their request was answered before, or never sent
  std::uint64_t late = 0;        // replies not delivered: another server was asked instead
  std::uint64_t resent = 0;      // requests that went to another server
};

// What a load needs of the world: a way to the server, and the time. Behind it stands a socket, or in tests a
// server and a clock of their own. Belongs to one connection and is used by its thread alone.
class LoadLink {
 public:
  virtual ~LoadLink() = default;

  virtual TimePoint now() = 0;

  // Sends one request without waiting for the network. An error means that nothing was sent and no reply will
  // come.
  virtual Status send(std::uint64_t request_id, const RequestContent& content) = 0;

  // Asks the server to stop a request that was sent. It is answered all the same.
  virtual void cancel(std::uint64_t) {}

  // Appends replies that have arrived to `replies`. When none has, waits until one does or `at_most` has
  // passed, to within some tens of microseconds; 0 is a look that does not sleep. May return early with
  // nothing. An error means that this link will never bring a reply again.
  virtual Status receive(Duration at_most, std::vector<Reply>& replies) = 0;

  virtual LinkCounts counts() const { return {}; }
};

}  // namespace volvox
