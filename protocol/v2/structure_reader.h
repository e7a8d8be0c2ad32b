#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/structure.h"
#include "protocol/limits.h"

namespace volvox {

// A structure as a client wrote it, and what it views.
struct V2Structure {
  Structure structure;
  std::vector<std::vector<std::int32_t>> lists;
  std::deque<std::string> names;

  V2Structure() = default;
  V2Structure(V2Structure&&) = default;
  V2Structure& operator=(V2Structure&&) = default;
  V2Structure(const V2Structure&) = delete;
  V2Structure& operator=(const V2Structure&) = delete;
};

// Reads the parameter "structure" of the request in `text`, which has passed parse_v2_document:
// {"tree": {"parents": […]}} and so on, with the fields of protocol/volvox.capnp; or a text that holds such
// an object, for clients whose parameters are scalars. Its lists never become a document; each has at most as
// many entries as the limits allow a structure. INVALID_ARGUMENT says what is wrong. Whether the indices make
// sense is check_structure's business.
Result<V2Structure> read_v2_structure(std::string_view text, const WireLimits& limits);
// The same where `text` is the structure and nothing else.
Result<V2Structure> read_v2_structure_alone(std::string_view text, const WireLimits& limits);

}  // namespace volvox
