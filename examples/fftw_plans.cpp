// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The README's example: many FFT lengths, a bounded number of plans.
#include <complex>
#include <iostream>
#include <larder/fft/fftw.hpp>
#include <vector>

int main() {
  using namespace larder::fft;
  fftw::PlanCache plans{{.max_idle = 64}};
  for (int step = 0; step < 1000; ++step) {
    const int n = 16 + step % 200;
    std::vector<std::complex<double>> in(n, 1.0), out(n);
    auto plan = plans.acquire(fftw::PlanKey::for_arrays(PlanSpec::c2c({n}), in.data(), out.data()));
    fftw::execute(plan, in.data(), out.data());
    if (std::abs(out[0] - double(n)) > 1e-9) return 1;
  }  // each plan goes back to the cache here
  std::cout << plans.stats().builds << " plans built, " << plans.stats().idle << " kept\n";
}
