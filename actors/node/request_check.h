#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "cells/model/model.h"
#include "protocol/messages.h"

namespace volvox {

// How a model's elements are called on the wire.
WireType wire_type(DType dtype);

// A request's body, checked against its model.
struct CheckedRequest {
  std::uint32_t length = 0;                            // steps, or nodes
  std::size_t host_bytes = 0;                          // of memory that it takes unfolded, besides
  std::array<const WireTensor*, kMaxInputs> inputs{};  // by the model's own input number
  std::vector<std::size_t> outputs;                    // numbers of the wanted outputs
};

// Whether the model can run this: its structure (its unfolding says), and each input's name, type,
// shape and values (ids it knows, finite numbers); the wanted outputs. INVALID_ARGUMENT with a sentence that
// says what to do. Pure; the result points into `body`.
Result<CheckedRequest> check_request(const Model& model, const RequestBody& body);

}  // namespace volvox
