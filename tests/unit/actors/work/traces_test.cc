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
  {
    const LogSubject subject = subject_of(*request);
    EXPECT_EQ(LogSubject::current(), &subject);
    EXPECT_EQ(subject.request(), 70U);
    EXPECT_EQ(subject.trace(), caller.trace) << "also one that nobody records";
  }
  EXPECT_EQ(LogSubject::current(), nullptr);
}

TEST(SubjectOf, HasNoTraceWhereThereIsNone) {
  const auto request = new_request(7);
  EXPECT_FALSE(subject_of(*request).trace().valid());
}

}  // namespace
}  // namespace volvox
