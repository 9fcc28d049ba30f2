// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A return by a plain store, which whoever holds the mutex can interrupt: Linux' restartable sequences (rseq).
//
// A locked instruction is there so that no other thread's change falls between the look at the word and the store.
// Instead, look and store are one restartable sequence: when the kernel interrupts it, it does not go on but fails. A thread
// that changes the word of a leased slot then calls interrupt_returns(). After that, every return that has looked at the
// word before the change has either been stored, over the change and visibly, or will fail. The return itself
// touches nothing once the word is stored, so it needs no memory that outlives the cache.
//
// Only on x86-64 with glibc 2.35 or later, which registers threads for rseq, and Linux 5.10 or later, which can interrupt
// them; not under the thread sanitizer, which cannot follow it, nor under valgrind, which has no rseq. Elsewhere
// returns_can_be_plain() is false.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LARDER_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define LARDER_THREAD_SANITIZER 1
#endif

#if defined(__linux__) && defined(__x86_64__) && defined(__LP64__) && __has_include(<sys/rseq.h>) && \
    !defined(LARDER_THREAD_SANITIZER)
#include <sys/rseq.h>
#define LARDER_PLAIN_RETURN 1
#else
#define LARDER_PLAIN_RETURN 0
#endif

namespace larder::detail {

/// Whether store_in_sequence() and interrupt_returns() work in this process; registers it for that, also anew after fork().
[[nodiscard]] bool returns_can_be_plain() noexcept;

/// Every store_in_sequence() that had begun before this call has ended when it returns, or will fail.
void interrupt_returns() noexcept;

/// Stores `desired` (release) if the word is `expected`, and nothing has interrupted the thread in between.
[[nodiscard]] inline bool store_in_sequence([[maybe_unused]] std::atomic<std::uint64_t>& word,
                                            [[maybe_unused]] std::uint64_t expected,
                                            [[maybe_unused]] std::uint64_t desired) noexcept {
#if LARDER_PLAIN_RETURN
  static_assert(offsetof(struct rseq, cpu_id) == 4 && offsetof(struct rseq, rseq_cs) == 8 && RSEQ_SIG == 0x53053053);
  // 3: describes the sequence, 1: to 2:, to the kernel, and 4: is where it goes when interrupted. The descriptor may lie in a
  // library that is unloaded, so it does not stay set. A thread made in a sandbox may have no rseq: its cpu_id is negative.
  __asm__ goto(
      ".pushsection __rseq_cs, \"aw?\"\n\t"
      ".balign 32\n"
      "3:\n\t"
      ".long 0, 0\n\t"
      ".quad 1f, 2f - 1f, 4f\n\t"
      ".popsection\n\t"
      "cmpl $0, %%fs:4(%[area])\n\t"
      "jl %l[failed]\n\t"
      "leaq 3b(%%rip), %%rax\n\t"
      "movq %%rax, %%fs:8(%[area])\n"
      "1:\n\t"
      "cmpq %[expected], (%[word])\n\t"
      "jne %l[failed]\n\t"
      "movq %[desired], (%[word])\n"
      "2:\n\t"
      "movq $0, %%fs:8(%[area])\n\t"
      ".pushsection __rseq_failure, \"ax?\"\n\t"
      ".byte 0x0f, 0xb9, 0x3d\n\t"
      ".long 0x53053053\n"
      "4:\n\t"
      "jmp %l[failed]\n\t"
      ".popsection\n"
      :
      : [area] "r"(__rseq_offset), [word] "r"(&word), [expected] "r"(expected), [desired] "r"(desired)
      : "rax", "cc", "memory"
      : failed);
  return true;
failed:
  __asm__ volatile("movq $0, %%fs:8(%[area])" : : [area] "r"(__rseq_offset) : "memory");
#endif
  return false;
}

}  // namespace larder::detail
