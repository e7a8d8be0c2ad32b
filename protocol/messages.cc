#include "protocol/messages.h"

#include <array>
#include <utility>

namespace volvox {
namespace {

template <class Enum, std::size_t N>
std::string_view name_of(Enum value, const std::array<std::string_view, N>& names) {
  const auto at = static_cast<std::size_t>(value);
  return at < N ? names[at] : "unknown";
}

}  // namespace

std::string_view to_string(RequestKind kind) {
  return name_of(kind, std::array<std::string_view, 4>{"infer", "cancel", "ping", "bundle"});
}

std::string_view to_string(ReplyKind kind) {
  return name_of(kind, std::array<std::string_view, 5>{"result", "partial", "error", "pong", "bundle"});
}

std::string_view to_string(WirePriority priority) {
  return name_of(priority, std::array<std::string_view, 3>{"normal", "high", "low"});
}

const WireTensor* ReplyBody::find(std::string_view name) const {
  for (const WireTensor& output : outputs) {
    if (output.name == name) return &output;
  }
  return nullptr;
}

ReplyHeader error_reply(std::uint64_t request_id, Error error) {
  ReplyHeader header;
  header.kind = ReplyKind::kError;
  header.request_id = request_id;
  header.error = std::move(error);
  return header;
}

}  // namespace volvox
