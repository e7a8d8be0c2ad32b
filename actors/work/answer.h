#pragma once

#include <cstddef>
#include <cstdint>

#include "actors/work/work.h"
#include "base/error.h"

namespace volvox {

// What a request that was unfolded gets back, read from where the device wrote it. The manager's thread.

// Each wanted output of a request that is done, but those that were sent row by row: views of what the work
// keeps.
FixedVector<WireTensor, kMaxOutputs> answered_outputs(Work& work);
// The whole answer of a request that is done.
Outcome whole_answer(const WorkPtr& work);

// A streamed request is given the outputs that have a row for every step as they are made: partial t holds
// row t of each of them, so that its numbers stay the same when the request is sent again.

// Whether the request, if it is to be streamed, can be: INVALID_ARGUMENT when it wants no such output, or
// wants to begin behind the end.
Status begin_stream(Work& work);
// So many steps of the lane are done: sends each row that is complete now.
void advance_stream(const WorkPtr& work, std::uint8_t lane, std::uint32_t steps);
// The request is done: sends the rows that are left.
void end_stream(const WorkPtr& work);

}  // namespace volvox
