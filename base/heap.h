#pragma once

namespace volvox {

// Freed memory of up to a MiB or so a piece is kept for what comes next. Left alone, the allocator begins by
// giving back each buffer of 128 kB and more as it is freed, and what lies at the end of an arena, and the
// next one is paid for page by page: where many bodies of 100 kB come and go at once that takes longer than
// all else that is done with them. What is larger it keeps when it has seen one of the size, as ever: much of
// it may be set aside at once for messages that never become whole. For processes that call
// return_freed_memory() now and then, or live for one job. Any thread; best before there are others.
void keep_freed_memory();

// All of it goes back to the system. Each arena is locked meanwhile, for about a millisecond where there is
// much to give back, and for a hundred on machines whose page tables somebody else keeps. Any thread.
void return_freed_memory();

}  // namespace volvox
