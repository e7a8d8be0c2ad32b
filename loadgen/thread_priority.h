#pragma once

namespace volvox {

// A client that shares its machine with a busy server is woken late, and would count its own delay as the
// server's. Where the system allows it, the calling thread and the threads that it starts from now on run
// before ordinary ones (nice −10), and sleep to within a microsecond instead of 50; where it does not, this
// does nothing. Lateness is measured either way.
void prefer_this_thread();

// Back to ordinary priority, for work that nobody waits for.
void unprefer_this_thread();

}  // namespace volvox
