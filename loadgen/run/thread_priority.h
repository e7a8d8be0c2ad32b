#pragma once

namespace volvox {

// A client that shares its machine with a busy server is woken late, and would count its own delay as the
// server's. Where the system allows it, the calling thread and those that it starts from now on run before
// all ordinary ones (real time, round robin, lowest level; else nice −10), and its sleeps end to within a
// microsecond instead of 50. Where it does not, nothing changes. Only for threads that mostly sleep: others
// have to wait for them.
void prefer_this_thread();

// The calling thread's sleeps end to within a microsecond instead of 50, as far as the processor is free. Any
// thread may have that.
void wake_on_time();

// A thread that never sleeps uses up its turns, and then gives way to every other that wakes. Where the
// system allows it, the calling one mostly goes on (nice −5); others still have theirs. Where it does not,
// nothing changes.
void keep_processor();

// Back to ordinary priority, for work that nobody waits for.
void unprefer_this_thread();

}  // namespace volvox
