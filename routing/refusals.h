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

// What the client is told when nobody else took it: that there is no such model is for certain, while others
// may be full or silent for the moment.
inline const Error& worse(const Error& refusal, const Error& elsewhere) {
  return refusal.code == ErrorCode::kModelNotFound && elsewhere.code == ErrorCode::kUnavailable ? refusal
                                                                                                : elsewhere;
}

}  // namespace volvox
