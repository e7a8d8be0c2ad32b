// The accept() of this program, in the place of the system's: see actors/edge/accept_guard.h.
#include <sys/socket.h>

#include "actors/edge/accept_guard.h"

extern "C" int accept(int listener, sockaddr* address, socklen_t* size) {
  return volvox::AcceptGuard::of_process().accept(listener, address, size);
}
