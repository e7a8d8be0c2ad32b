// Ends the process in its n-th sending of at least 64 bytes over a socket from when n was written; 0: never.

#include <sys/socket.h>
#include <sys/uio.h>

#include "armed.h"

enum { kLeast = 64 };

static void count(size_t bytes) {
  volatile int64_t* left = shim_number();
  if (bytes < kLeast || *left <= 0) return;
  if (__atomic_sub_fetch(left, 1, __ATOMIC_SEQ_CST) == 0) _exit(70);
}

ssize_t send(int socket, const void* data, size_t size, int flags) {
  static ssize_t (*next)(int, const void*, size_t, int);
  if (!next) next = (ssize_t(*)(int, const void*, size_t, int))dlsym(RTLD_NEXT, "send");
  count(size);
  return next(socket, data, size, flags);
}

ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
  static ssize_t (*next)(int, const struct msghdr*, int);
  if (!next) next = (ssize_t(*)(int, const struct msghdr*, int))dlsym(RTLD_NEXT, "sendmsg");
  size_t bytes = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) bytes += message->msg_iov[i].iov_len;
  count(bytes);
  return next(socket, message, flags);
}
