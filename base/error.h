#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace volvox {

// Every way in which Volvox can fail, as a client sees it. The numbers travel on the wire: append, never
// reorder.
enum class ErrorCode : std::uint16_t {
  kInvalidArgument = 1,     // the request can never succeed as it stands; fix it
  kModelNotFound = 2,       // no such model or version is loaded
  kUnsupportedVersion = 3,  // the peer speaks a protocol version that this process does not
  kOverloaded = 4,          // a bound was reached; try again later
  kDeadlineExceeded = 5,    // the deadline passed, or could not have been met
  kCancelled = 6,           // the client asked for it, or went away
  kSessionExpired = 7,      // the session ended; begin a new one
  kSessionLost = 8,         // the session's state could not be recovered
  kUnauthenticated = 9,     // no or unknown key
  kPermissionDenied = 10,   // a known key that may not do this
  kUnavailable = 11,        // nothing here can serve this now; another process may
  kInternal = 12,           // a defect or a broken device; see the server's log
};

// "INVALID_ARGUMENT" and so on: the name used on the wire, in logs, reports and metrics.
std::string_view to_string(ErrorCode code);

// The reverse of to_string; kInternal for a name that is not known.
ErrorCode error_code_from(std::string_view name);

// A failure as a value: what went wrong, and a sentence that says what to do about it.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  bool operator==(const Error&) const = default;
};

// "INVALID_ARGUMENT: …", for logs and terminals.
std::string to_string(const Error& error);

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
inline tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace volvox
