#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "loadgen/agents/load_messages.h"
#include "protocol/buffer.h"
#include "protocol/limits.h"

namespace volvox {

// Messages ↔ bytes, as protocol/codec/codec.h does it: a decoder takes any bytes at any address, bounds what
// it allocates, and says what is wrong as INVALID_ARGUMENT. Whether a job may be run is not its question, but
// whatever it answers can be run. Plain functions: any thread.

// What both ends allow: a job may carry a treebank, a result the histograms of many models.
WireLimits load_limits();

WireBuffer encode_load_header(std::uint64_t run);
// The run. UNSUPPORTED_VERSION names the versions where they differ.
Result<std::uint64_t> decode_load_header(std::span<const std::byte> bytes);

// INVALID_ARGUMENT past the limits.
Result<WireBuffer> encode_load_message(const LoadMessage& message);
Result<LoadMessage> decode_load_message(std::span<const std::byte> bytes);

}  // namespace volvox
