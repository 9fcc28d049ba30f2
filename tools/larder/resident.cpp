// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "resident.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace larder::cli {

std::uint64_t resident_bytes() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  constexpr const char* statm = "/proc/self/statm";
  const int file = ::open(statm, O_RDONLY | O_CLOEXEC);
  std::array<char, 256> text{};
  const ssize_t size = file < 0 ? -1 : ::read(file, text.data(), text.size());
  const int error = errno;
  if (file >= 0) ::close(file);
  if (size <= 0) throw std::system_error(error, std::generic_category(), statm);

  // "total resident shared ...", in pages.
  const char* const end = text.data() + size;
  std::uint64_t pages = 0;
  const char* const resident = std::from_chars(text.data(), end, pages).ptr + 1;
  if (resident >= end || std::from_chars(resident, end, pages).ec != std::errc{}) {
    throw std::system_error(EPROTO, std::generic_category(), statm);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace larder::cli
