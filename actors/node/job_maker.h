#pragma once

#include <cstdint>

#include "actors/node/node.h"
#include "actors/work/work.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "protocol/limits.h"
#include "protocol/messages.h"

namespace volvox {

// A request comes in as bytes and must become a job that the scheduler can run. In two steps, because a part
// of a session is checked when it comes and made when its turn has come: memory for its results is not taken
// before. One actor at a time.
class JobMaker {
 public:
  explicit JobMaker(NodePtr node);

  // The body's views hold its bytes. INVALID_ARGUMENT when it cannot be read.
  Result<RequestBody> read(const Work& work) const;
  // Whether the model can run the body, and what of it; holds the body's bytes.
  static Result<CheckedJob> check(const ModelPtr& model, const RequestBody& body);
  static Digest content(const CheckedJob& job, const HashKey& key);
  // Counts the work, which was checked, among those of the device until it has ended there.
  void place(Work& work, std::uint32_t device) const;
  // Takes memory for the results, stages the inputs and unfolds, on the device that Work::device_place names:
  // fills Work::unfolded. OVERLOADED when memory is short.
  Status make(Work& work) const;

 private:
  Device& device_of(const Work& work) const;
  Result<ResultBlock> allocate_results(Work& work) const;

  NodePtr node_;
  WireLimits limits_;
};

}  // namespace volvox
