// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/detail/plain_return.hpp>

#if LARDER_PLAIN_RETURN
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>
#endif

namespace larder::detail {

#if LARDER_PLAIN_RETURN

bool returns_can_be_plain() noexcept {
  return __rseq_size > 0 && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0;
}

void interrupt_returns() noexcept {
  while (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) != 0) {
    if (errno != ENOMEM) {
      // Registered, and forbidden since: nothing can be known any more of the returns under way.
      std::perror("larder: membarrier, which worked when the cache was made");
      std::abort();
    }
    std::this_thread::yield();
  }
}

#else

bool returns_can_be_plain() noexcept { return false; }

void interrupt_returns() noexcept {}

#endif

}  // namespace larder::detail
