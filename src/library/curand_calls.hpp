// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CurandCalls: cuRAND's calls, with those that start a generator.
#pragma once

#include <string>

#include "libraries.hpp"

namespace larder::library {

class CurandCalls final : public Calls {
 public:
  explicit CurandCalls(const Curand& functions) noexcept : curand_(functions) {}
  [[nodiscard]] const char* name() const noexcept override { return "curand"; }
  [[nodiscard]] int create(void** generator, int type) const override { return curand_.create(generator, type); }
  [[nodiscard]] int destroy(void* generator) const override { return curand_.destroy(generator); }
  [[nodiscard]] int set_stream(void* generator, void* stream) const override {
    return curand_.set_stream(generator, stream);
  }
  // Whoever leases it next starts it.
  [[nodiscard]] int reset(void* /*generator*/) const override { return 0; }
  [[nodiscard]] std::string name_of(int result) const override;
  [[nodiscard]] bool retryable(int result) const noexcept override;

  [[nodiscard]] int set_seed(void* generator, unsigned long long seed) const {
    return curand_.set_seed(generator, seed);
  }
  [[nodiscard]] int set_offset(void* generator, unsigned long long offset) const {
    return curand_.set_offset(generator, offset);
  }
  [[nodiscard]] int set_ordering(void* generator, int ordering) const {
    return curand_.set_ordering(generator, ordering);
  }

 private:
  Curand curand_;
};

}  // namespace larder::library
