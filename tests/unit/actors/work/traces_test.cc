#include "actors/work/traces.h"

#include <gtest/gtest.h>

#include "tests/unit/actors/stage.h"

namespace volvox {
namespace {

TEST(SubjectOf, IsTheClientsNumberAndItsCallersTrace) {
  const auto request = new_request(7);
  request->header.request_id = 70;
  const TraceContext caller{{11, 12}, 13, false};
  set_trace_context(request->header, caller);
  EXPECT_EQ(subject_of(*request).request, 70U);
  EXPECT_EQ(subject_of(*request).trace, caller.trace) << "also one that nobody records";
}

TEST(SubjectOf, HasNoTraceWhereThereIsNone) {
  EXPECT_FALSE(subject_of(*new_request(7)).trace.valid());
}

}  // namespace
}  // namespace volvox
