#include "protocol/codec/header_bytes.h"

#include <string>

#include "protocol/messages.h"

namespace volvox {

Status check_frame_size(std::string_view what, std::size_t bytes, std::size_t limit) {
  if (bytes <= limit) return {};
  return invalid(std::string(what) + " has " + std::to_string(bytes) + " bytes; the limit is " +
                 std::to_string(limit));
}

Status check_version(std::uint16_t version, std::string_view peer) {
  if (version >= kOldestProtocolVersion && version <= kProtocolVersion) return {};
  return fail(ErrorCode::kUnsupportedVersion,
              std::string(peer) + " speaks protocol version " + std::to_string(version) +
                  ", this side speaks " + std::to_string(kOldestProtocolVersion) + " to " +
                  std::to_string(kProtocolVersion) + "; use a client and a server of matching releases");
}

ErrorCode known_code(std::uint16_t number) {
  const bool known = number >= static_cast<std::uint16_t>(ErrorCode::kInvalidArgument) &&
                     number <= static_cast<std::uint16_t>(ErrorCode::kInternal);
  return known ? static_cast<ErrorCode>(number) : ErrorCode::kInternal;
}

}  // namespace volvox
