#pragma once

namespace volvox {

// Freed memory is kept for what comes next. Left alone, the allocator gives it back piece by piece, with each
// large buffer that is freed, and the next one is paid for page by page: where many bodies of 100 kB come and
// go at once that takes longer than all else that is done with them. For processes that call
// return_freed_memory() now and then, or live for one job. Any thread; best before there are others.
void keep_freed_memory();

// From now on what lies free at an arena's end goes back with the next large piece that is freed in it, until
// keep_freed_memory() is called. Any thread.
void give_up_freed_memory();

// All of it goes back to the system but what lies at the end of an arena that is not the first one: for that,
// see give_up_freed_memory(). Each arena is locked meanwhile, for about a millisecond where there is
// much to give back, and for tens of them on machines whose page tables somebody else keeps. Any thread.
void return_freed_memory();

}  // namespace volvox
