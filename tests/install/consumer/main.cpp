// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program outside the project that uses the installed package.
#include <iostream>
#include <larder/handle_cache.hpp>

struct Numbers {
  using Key = int;
  using Handle = int;
  int create(const int& key) { return 10 * key; }
  void destroy(const int&, int) {}
};

int main() {
  larder::HandleCache<Numbers> numbers{{.max_idle = 1}};
  const int value = *numbers.acquire(4);
  std::cout << value << '\n';
  return value == 40 && numbers.stats().idle == 1 ? 0 : 1;
}
