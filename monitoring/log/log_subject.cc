#include "monitoring/log/log_subject.h"

#include <utility>

namespace volvox {
namespace {

thread_local const LogSubject* newest = nullptr;

}  // namespace

LogSubject::LogSubject(std::uint64_t request, TraceId trace)
    : request_(request), trace_(trace), outer_(std::exchange(newest, this)) {}

LogSubject::~LogSubject() {
  newest = outer_;
}

const LogSubject* LogSubject::current() {
  return newest;
}

}  // namespace volvox
