#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/structure.h"
#include "protocol/limits.h"
#include "protocol/volvox.capnp.h"

namespace volvox {

// The structure of a request; what is read has been checked. Internal to the codec.
Result<Structure> read_structure(wire::Structure::Reader reader, const WireLimits& limits);
void write_structure(const Structure& structure, wire::Structure::Builder builder);
std::size_t structure_words(const Structure& structure);

}  // namespace volvox
