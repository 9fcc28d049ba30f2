// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CurandCalls: cuRAND's calls, with what starts a generator.
#pragma once

#include <string>

#include <larder/library/curand.hpp>

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
  [[nodiscard]] int reset(void* generator, int type) const override { return start(generator, type, {}).result; }
  [[nodiscard]] std::string name_of(int result) const override;
  [[nodiscard]] bool retryable(int result) const noexcept override;

  // The state of a generator takes 4 MiB of an H200, but only once it generates.
  [[nodiscard]] std::size_t least_bytes() const noexcept override { return std::size_t{4} << 20; }

  struct Started {
    int result = 0;
    const char* what = "";  // that could not be set
  };
  /// Puts a generator at the start of a sequence, wherever it was in which one.
  [[nodiscard]] Started start(void* generator, int type, const curand::Start& start) const;

 private:
  Curand curand_;
};

}  // namespace larder::library
