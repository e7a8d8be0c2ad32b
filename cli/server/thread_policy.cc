#include "cli/server/thread_policy.h"

#include <cerrno>
#include <cstring>

#include <sched.h>
#include <spdlog/spdlog.h>

namespace volvox {

void use_thread_policy(ThreadPolicy policy) {
  if (policy == ThreadPolicy::kNormal || sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param none{};
  if (sched_setscheduler(0, SCHED_BATCH, &none) == 0) return;
  spdlog::warn("server.thread_policy = \"batch\" is not allowed here: {}", std::strerror(errno));
}

}  // namespace volvox
