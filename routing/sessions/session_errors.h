#pragma once

#include "routing/sessions/session.h"

namespace volvox {

// What clients are told: a code, and a sentence that says what to do. Internal to SessionTable
// and what it is made of. `next`: the part that comes next in its session.

Error ended_error(SessionEnd reason, std::uint64_t next);
Error unknown_session_error();
Error no_session_error();  // the token is empty
Error draining_error();
Error table_full_error(std::uint32_t max_sessions);
Error too_many_sessions_error(std::uint32_t share);
Error too_far_ahead_error(std::uint64_t next, std::uint32_t max_waiting);
Error too_many_waiting_error(std::uint32_t max_waiting);
Error parked_full_error(std::uint64_t next);
Error missing_part_error(std::uint64_t next);
Error no_room_error();  // nobody could be spilled
Error other_client_error();
Error other_model_error();
Error old_epoch_error(std::uint64_t token, std::uint64_t session);
Error new_epoch_error(std::uint64_t token, std::uint64_t session);
Error model_gone_error();
Error nothing_kept_error(std::uint64_t sequence, std::uint64_t next);
Error not_the_last_error(std::uint64_t sequence, std::uint64_t next);
Error conflicting_part_error(std::uint64_t sequence);
Error other_content_error(const SessionRequest& request, std::uint64_t next);

}  // namespace volvox
