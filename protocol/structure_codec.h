#pragma once

#include <cstddef>

#include "base/error.h"
#include "protocol/limits.h"
#include "protocol/structure.h"
#include "protocol/volvox.capnp.h"

namespace volvox {

// The structure of a request; what is read has been checked. Internal to the codec.
Result<WireStructure> read_structure(wire::Structure::Reader reader, const WireLimits& limits);
void write_structure(const WireStructure& structure, wire::Structure::Builder builder);
std::size_t structure_words(const WireStructure& structure);

}  // namespace volvox
