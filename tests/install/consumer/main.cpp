// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program outside the project that uses the installed package.
#include <iostream>
#include <larder/handle_cache.hpp>
#ifdef CONSUMER_FFTW
#include <larder/fft/fftw.hpp>
#endif

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
#ifdef CONSUMER_FFTW
  larder::fft::fftw::PlanCache plans;
  if (!plans.acquire(larder::fft::fftw::PlanKey(larder::fft::PlanSpec::c2c({64})))) return 1;
#endif
  return value == 40 && numbers.stats().idle == 1 ? 0 : 1;
}
