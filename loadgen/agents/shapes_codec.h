#pragma once

#include <cstddef>

#include "base/error.h"
#include "loadgen/requests/request_source.h"
#include "protocol/limits.h"
#include "protocol/load.capnp.h"

namespace volvox {

// What requests say, as part of a job: the tables of the files that the coordinator read, for an agent has no
// files.
std::size_t shapes_words(const RequestSource::Shapes& shapes);
void write_shapes(const RequestSource::Shapes& shapes, wire::LoadClass::Shapes::Builder builder);
Result<RequestSource::Shapes> read_shapes(wire::LoadClass::Shapes::Reader reader, const WireLimits& limits);

}  // namespace volvox
