#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/fixed_vector.h"
#include "cells/model/model.h"
#include "protocol/buffer.h"
#include "protocol/messages.h"

namespace volvox {

// How a model's elements are called on the wire.
WireType wire_type(DType dtype);

// A request's body, checked against its model.
struct CheckedRequest {
  Lengths lengths{};           // by sequence; nodes are one
  std::size_t host_bytes = 0;  // of memory that it takes unfolded, besides
  // Elements of the model's types, by its own input number; all in the body, or all in `narrowed`.
  std::array<std::span<const std::byte>, kMaxInputs> inputs{};
  std::shared_ptr<const WireBuffer>
      narrowed;  // null, unless there was an i64 input where the model reads i32
  FixedVector<std::size_t, kMaxOutputs> outputs;  // numbers of the wanted outputs
};

// Whether the model can run this: its structure (its unfolding says), and each input's name, type,
// shape and values (ids it knows, finite numbers); the wanted outputs. Where the model reads i32 an i64 input
// is taken if its values fit: numpy and PyTorch make token ids of that type. INVALID_ARGUMENT with a sentence
// that says what to do. Pure; the result points into `body`.
Result<CheckedRequest> check_request(const Model& model, const RequestBody& body);

}  // namespace volvox
