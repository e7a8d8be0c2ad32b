#pragma once

#include <cstddef>

#include "base/time.h"

namespace volvox {

// How long a client may take to send a content, and how much memory is set aside for one: as its bytes come,
// so that an announcement costs nothing and one byte holds little. A plain value.
struct UploadRules {
  Duration io_timeout{};                   // for all of it
  Duration grace{};                        // before the rate counts
  std::size_t least_bytes_per_second = 0;  // 0: no such bound

  // Until when the client must have sent `more` bytes, of a content that began at `start` and of which `got`
  // have come.
  TimePoint due(TimePoint start, std::size_t got, std::size_t more) const;

  // Bytes of content for which memory must be set aside before more is read, when so many have come, of at
  // most `most`.
  static std::size_t set_aside(std::size_t got, std::size_t most);
};

}  // namespace volvox
