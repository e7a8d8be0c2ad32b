#pragma once

#include "config/schema.h"

namespace volvox {

// How the kernel runs the threads that the calling one begins from now on, and itself. Batch: one that is
// woken waits for a free core, or until whoever runs there pauses, instead of taking its core at once. A
// process whose threads wake each other for each message otherwise goes from thread to thread for each, with
// the others' work half done. Left alone: a policy that an operator has given the process (chrt), and
// whatever the kernel does not allow.
void use_thread_policy(ThreadPolicy policy);

}  // namespace volvox
