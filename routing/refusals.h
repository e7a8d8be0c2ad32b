#pragma once

#include "base/error.h"

namespace volvox {

// Whether another node may take what one has refused with this error. A part of a session is its home's
// business. A node that has just unloaded a model is asked for it until the router has heard of that.
inline bool may_run_elsewhere(bool part, ErrorCode refusal) {
  if (part) return false;
  return refusal == ErrorCode::kUnavailable || refusal == ErrorCode::kOverloaded ||
         refusal == ErrorCode::kModelNotFound;
}

// Whether the client is told that refusal, where nobody else took it, rather than why: that there is no such
// model is for certain, while others may be silent for the moment; and who is full says for how long.
inline bool stands(const Error& refusal, const Error& elsewhere) {
  if (refusal.code == ErrorCode::kModelNotFound) return elsewhere.code == ErrorCode::kUnavailable;
  return refusal.code == ErrorCode::kOverloaded && elsewhere.code == ErrorCode::kOverloaded;
}

}  // namespace volvox
