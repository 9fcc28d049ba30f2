// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract suite over the simulated kinds: exclusive, shared, context, and context with streams.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/contract_suite.hpp"
#include "doubles/fake_device.hpp"
#include "doubles/remote_factory.hpp"

namespace larder::core_tests {

/// A library under remote control, its handles exclusive or shared.
template <Sharing mode>
class RemoteKind {
 public:
  using Factory = doubles::RemoteFactory<mode>;

  RemoteKind() { control_->set_bytes_of_all(100); }
  [[nodiscard]] Factory factory() const { return Factory(control_); }
  [[nodiscard]] static int key(int number) { return number; }
  [[nodiscard]] std::uint64_t created() const { return control_->created(); }
  [[nodiscard]] std::uint64_t destroyed() const { return control_->destroyed(); }
  [[nodiscard]] std::vector<std::string> violations() const { return control_->violations(); }
  void use(const Lease<Factory>& lease) const { const doubles::Use use(*control_, *lease, mode); }
  void fail_next_create() const { control_->throw_at(doubles::Call::create, 1); }
  void fail_next_destroy() const { control_->throw_at(doubles::Call::destroy, 1); }
  void lose_library() const { control_->set_alive(false); }

 private:
  std::shared_ptr<doubles::RemoteControl> control_ = std::make_shared<doubles::RemoteControl>();
};

/// The simulated device with two contexts, which share the keys between them. The caller is always in a third.
template <class Plans>
class DeviceKind {
 public:
  using Factory = Plans;

  DeviceKind() { device_.set_current(callers_); }
  [[nodiscard]] Factory factory() { return Factory(device_, hook_); }
  [[nodiscard]] doubles::DevicePlanKey key(int number) const {
    return {contexts_[static_cast<std::size_t>(number % 2)], 100 + number};
  }
  /// Another one at each request.
  [[nodiscard]] doubles::DeviceStream stream() {
    return streams_[static_cast<std::size_t>(requests_.fetch_add(1) % 3)];
  }
  [[nodiscard]] std::uint64_t created() const { return device_.created(); }
  [[nodiscard]] std::uint64_t destroyed() const { return device_.destroyed(); }
  [[nodiscard]] std::vector<std::string> violations() const {
    auto all = device_.violations();
    const auto stack = device_.stack();
    if (stack != std::vector<doubles::DeviceContext>{callers_})
      all.emplace_back("the caller's context was not restored");
    return all;
  }
  void use(const Lease<Factory>& lease) {
    const doubles::CurrentContext inside(device_, (*lease)->context);
    if constexpr (StreamFactory<Factory>) device_.launch(**lease, (*lease)->prepared_for);
  }
  void fail_next_create() { fail_next("create"); }
  void fail_next_destroy() { fail_next("destroy"); }
  void lose_library() {
    for (const doubles::DeviceContext& context : contexts_) device_.lose_context(context);
  }

 private:
  void fail_next(std::string what) {
    *hook_ = [this, what = std::move(what)](const std::string& member) {
      if (member != what) return;
      // Not on the spot: the function that is running must not be destroyed.
      if (!std::exchange(failed_, true)) throw std::runtime_error("scripted failure");
    };
    failed_ = false;
  }

  doubles::FakeDevice device_;
  std::vector<doubles::DeviceContext> contexts_{device_.create_context(), device_.create_context()};
  doubles::DeviceContext callers_ = device_.create_context();
  std::vector<doubles::DeviceStream> streams_{device_.create_stream(), device_.create_stream(),
                                              device_.create_stream()};
  std::atomic<unsigned> requests_{0};
  std::shared_ptr<doubles::DeviceHook> hook_ = std::make_shared<doubles::DeviceHook>();
  bool failed_ = false;
};

template <class Kind>
using UnderEveryPolicy =
    testing::Types<Under<Kind, &Policy::value>, Under<Kind, &Policy::lru>, Under<Kind, &Policy::gds>>;

INSTANTIATE_TYPED_TEST_SUITE_P(Exclusive, ContractSuite, UnderEveryPolicy<RemoteKind<Sharing::exclusive>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Shared, ContractSuite, UnderEveryPolicy<RemoteKind<Sharing::shared>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Context, ContractSuite, UnderEveryPolicy<DeviceKind<doubles::ContextPlans>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Stream, ContractSuite, UnderEveryPolicy<DeviceKind<doubles::StreamPlans>>);

}  // namespace larder::core_tests
