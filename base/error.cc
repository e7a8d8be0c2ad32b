#include "base/error.h"

#include <array>
#include <utility>

namespace volvox {
namespace {

constexpr std::array<std::pair<ErrorCode, std::string_view>, 12> kNames{{
    {ErrorCode::kInvalidArgument, "INVALID_ARGUMENT"},
    {ErrorCode::kModelNotFound, "MODEL_NOT_FOUND"},
    {ErrorCode::kUnsupportedVersion, "UNSUPPORTED_VERSION"},
    {ErrorCode::kOverloaded, "OVERLOADED"},
    {ErrorCode::kDeadlineExceeded, "DEADLINE_EXCEEDED"},
    {ErrorCode::kCancelled, "CANCELLED"},
    {ErrorCode::kSessionExpired, "SESSION_EXPIRED"},
    {ErrorCode::kSessionLost, "SESSION_LOST"},
    {ErrorCode::kUnauthenticated, "UNAUTHENTICATED"},
    {ErrorCode::kPermissionDenied, "PERMISSION_DENIED"},
    {ErrorCode::kUnavailable, "UNAVAILABLE"},
    {ErrorCode::kInternal, "INTERNAL"},
}};

}  // namespace

std::string_view to_string(ErrorCode code) {
  for (const auto& [value, name] : kNames) {
    if (value == code) return name;
  }
  return "INTERNAL";
}

ErrorCode error_code_from(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name) return value;
  }
  return ErrorCode::kInternal;
}

std::string to_string(const Error& error) {
  return std::string(to_string(error.code)) + ": " + error.message;
}

}  // namespace volvox
