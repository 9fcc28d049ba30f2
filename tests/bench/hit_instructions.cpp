// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Acquires and releases an idle handle as often as it is told, for check_hit_instructions.sh to count instructions.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <larder/fft/plan_spec.hpp>
#include <larder/handle_cache.hpp>
#include <string_view>

namespace {

template <class KeyType, larder::Sharing how>
struct Numbers {
  using Key = KeyType;
  using Handle = int;
  static constexpr auto sharing = how;
  Handle create(const Key& /*key*/) { return 1; }
  void destroy(const Key& /*key*/, Handle /*handle*/) {}
};

// Not inlined: four loops in one function would fight for its registers.
template <class Key, larder::Sharing how>
[[gnu::noinline]] int use(const Key& key, long pairs) {
  larder::HandleCache<Numbers<Key, how>> cache({.max_idle = 64});
  int sum = 0;
  for (long i = 0; i < pairs; ++i) sum += *cache.acquire(key);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: hit_instructions exclusive_int|exclusive_plan|shared_int|shared_plan PAIRS\n";
    return 2;
  }
  const std::string_view what = argv[1];
  const long pairs = std::atol(argv[2]);
  const std::uint64_t number = 42;
  const auto plan = larder::fft::PlanSpec::c2c({64, 64});
  long used = 0;
  if (what == "exclusive_int") used = use<std::uint64_t, larder::Sharing::exclusive>(number, pairs);
  if (what == "exclusive_plan") used = use<larder::fft::PlanSpec, larder::Sharing::exclusive>(plan, pairs);
  if (what == "shared_int") used = use<std::uint64_t, larder::Sharing::shared>(number, pairs);
  if (what == "shared_plan") used = use<larder::fft::PlanSpec, larder::Sharing::shared>(plan, pairs);
  return used == pairs ? 0 : 2;
}
