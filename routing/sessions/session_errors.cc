#include "routing/sessions/session_errors.h"

#include <string>

namespace volvox {
namespace {

std::string part(std::uint64_t sequence) {
  return "part " + std::to_string(sequence);
}

}  // namespace

Error ended_error(SessionEnd reason, std::uint64_t next) {
  switch (reason) {
    case SessionEnd::kEnded:
      return {ErrorCode::kSessionExpired,
              "the session was ended before " + part(next) + "; begin a new one, with a new nonce"};
    case SessionEnd::kExpired:
      return {ErrorCode::kSessionExpired,
              "the session was idle for too long; begin a new one, with a new nonce"};
    case SessionEnd::kLost:
      return {ErrorCode::kSessionLost,
              "the session's state could not be recovered; begin a new one, from the start of the stream"};
    case SessionEnd::kEvicted:
      return {ErrorCode::kSessionLost,
              "the idle session made room for others; begin a new one, from the start of the stream"};
    case SessionEnd::kDraining:
      return {
          ErrorCode::kSessionExpired,
          "this server was told to stop, and its sessions end with it; begin a new one, at another server"};
  }
  return {ErrorCode::kInternal, "the session ended for no known reason"};
}

Error unknown_session_error() {
  return {ErrorCode::kSessionLost,
          "this server does not know the session (any more); begin a new one, from the start of the stream"};
}

Error no_session_error() {
  return {ErrorCode::kInvalidArgument, "the token names no session; send the token of the last reply"};
}

Error draining_error() {
  return {ErrorCode::kUnavailable, "this server is stopping; try another one"};
}

Error table_full_error(std::uint32_t max_sessions) {
  return {ErrorCode::kOverloaded,
          "there are " + std::to_string(max_sessions) + " sessions, the most that may be; begin again later"};
}

Error too_many_sessions_error(std::uint32_t share) {
  return {ErrorCode::kOverloaded, "this client has " + std::to_string(share) +
                                      " sessions, the most that one may have; end one, or begin again later"};
}

Error too_far_ahead_error(std::uint64_t next, std::uint32_t max_waiting) {
  return {ErrorCode::kOverloaded,
          part(next) + " comes next, and at most " + std::to_string(max_waiting) +
              " may wait behind it; send this one again when earlier ones are answered"};
}

Error too_many_waiting_error(std::uint32_t max_waiting) {
  return {ErrorCode::kOverloaded, std::to_string(max_waiting) +
                                      " requests of the session wait, the most that may; send this one again "
                                      "when earlier ones are answered"};
}

Error parked_full_error(std::uint64_t next) {
  return {ErrorCode::kOverloaded,
          part(next) + " has not come, and no more parts may wait for missing ones now; send " + part(next) +
              " first, then this one again"};
}

Error missing_part_error(std::uint64_t next) {
  return {ErrorCode::kUnavailable,
          part(next) + " has not come for too long; send it, and then this one again"};
}

Error no_room_error() {
  return {
      ErrorCode::kOverloaded,
      "there is no room for the session's state, and no other session's could be put away; try again later"};
}

Error other_client_error() {
  return {ErrorCode::kPermissionDenied,
          "the session was begun with another client's key; continue it with that key, or begin a new one"};
}

Error other_model_error() {
  return {
      ErrorCode::kInvalidArgument,
      "the session was begun with another model, version or numerics; send the model's name and the token "
      "as the last reply has them"};
}

Error old_epoch_error(std::uint64_t token, std::uint64_t session) {
  return {ErrorCode::kInvalidArgument, "the token is of epoch " + std::to_string(token) +
                                           ", the session of epoch " + std::to_string(session) +
                                           "; send the token of the newest reply"};
}

Error new_epoch_error(std::uint64_t token, std::uint64_t session) {
  return {ErrorCode::kSessionLost, "the token is of epoch " + std::to_string(token) +
                                       ", this server's state only of epoch " + std::to_string(session) +
                                       "; begin a new session, from the start of the stream"};
}

Error model_gone_error() {
  return {ErrorCode::kSessionLost,
          "the model version that computed the session's state is not served here any more; begin a new "
          "session, from the start of the stream"};
}

Error nothing_kept_error(std::uint64_t sequence, std::uint64_t next) {
  return {ErrorCode::kInvalidArgument,
          part(sequence) + " was answered, and its output is not kept any more; continue with " + part(next)};
}

Error not_the_last_error(std::uint64_t sequence, std::uint64_t next) {
  return {ErrorCode::kInvalidArgument,
          part(sequence) + " was answered and did not end the session; end it with " + part(next)};
}

Error conflicting_part_error(std::uint64_t sequence) {
  return {ErrorCode::kInvalidArgument, "another request for " + part(sequence) +
                                           " waits that differs in whether it ends the session; repeat a "
                                           "request unchanged"};
}

Error other_content_error(const SessionRequest& request, std::uint64_t next) {
  if (request.verb == SessionVerb::kBegin) {
    return {
        ErrorCode::kInvalidArgument,
        "the nonce has begun a session with other content; repeat that begin unchanged, or draw a new nonce"};
  }
  if (request.sequence < next) {
    return {ErrorCode::kInvalidArgument,
            part(request.sequence) +
                " was taken with other content, and the stream has gone on from "
                "that; repeat it unchanged to have its answer, or continue with " +
                part(next)};
  }
  return {ErrorCode::kInvalidArgument, "another request for " + part(request.sequence) +
                                           " waits with other content; repeat it unchanged, or cancel it and "
                                           "await its answer before something else is sent in its place"};
}

}  // namespace volvox
