// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C35: every destroy throws at process exit. Each handle's destroy is still called, and the process ends well.
#include "core/shutdown/library.hpp"

namespace {

struct CountsFailures final : larder::Listener {
  ~CountsFailures() override {
    if (failures != 6) shutdown_tests::fail("the listener did not hear of six failed destroys");
  }
  void on_destroy_failed(const larder::KeyRef&, const std::string&) override { ++failures; }
  int failures = 0;
};

const shutdown_tests::Verdict verdict{6, 6};
const shutdown_tests::Library library;
CountsFailures listener;
shutdown_tests::Lease late;
shutdown_tests::Cache cache{{}, {.listener = &listener}};

shutdown_tests::Cache& function_local() {
  static shutdown_tests::Cache local{{}, {.listener = &listener}};
  return local;
}

}  // namespace

int main() {
  shutdown_tests::counts.destroy_throws = true;
  for (int key = 0; key < 3; ++key) (void)cache.acquire(key);
  for (int key = 0; key < 2; ++key) (void)function_local().acquire(key);
  late = cache.acquire(9);
}
