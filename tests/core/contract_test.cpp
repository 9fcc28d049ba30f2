// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract suite over the simulated kinds: exclusive, shared, context, and context with streams.
#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/contract_suite.hpp"
#include "doubles/device_plans.hpp"
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

/// The simulated driver with two contexts, which share the keys between them. The caller is always in a third.
template <class Plans>
class DeviceKind {
 public:
  using Factory = Plans;

  DeviceKind() { driver_.set_current(callers_); }
  [[nodiscard]] Factory factory() { return Factory(driver_); }
  [[nodiscard]] doubles::DevicePlanKey key(int number) const { return {contexts_[context_of(number)], 100 + number}; }
  /// Another one at each request.
  [[nodiscard]] gpu::Stream stream(int number) { return streams_[context_of(number)][requests_.fetch_add(1) % 3]; }
  [[nodiscard]] std::uint64_t created() { return driver_.objects_created(); }
  [[nodiscard]] std::uint64_t destroyed() { return driver_.objects_destroyed(); }
  [[nodiscard]] std::vector<std::string> violations() {
    auto all = driver_.violations();
    if (driver_.stack() != std::vector<gpu::Context>{callers_})
      all.emplace_back("the caller's context was not restored");
    return all;
  }
  void use(const Lease<Factory>& lease) {
    if constexpr (StreamFactory<Factory>) {
      doubles::launch(driver_, *lease, lease->prepared_for);
    } else {
      const gpu::CurrentContext inside(driver_, lease->context);
      driver_.touch(lease->object, "use");
    }
  }
  void fail_next_create() { fail_next("create_object"); }
  void fail_next_destroy() { fail_next("destroy"); }
  void lose_library() {
    for (const gpu::Context& context : contexts_) driver_.lose_context(context);
  }

 private:
  [[nodiscard]] static std::size_t context_of(int number) { return static_cast<std::size_t>(number % 2); }
  void fail_next(std::string what) {
    driver_.set_hook([this, what = std::move(what)](const std::string& member) {
      if (member != what) return;
      driver_.set_hook({});
      throw std::runtime_error("scripted failure");
    });
  }
  [[nodiscard]] std::array<gpu::Stream, 3> make_streams(const gpu::Context& context) {
    const gpu::CurrentContext inside(driver_, context);
    return {driver_.create_stream(), driver_.create_stream(), driver_.create_stream()};
  }

  doubles::SimulatedDriver driver_;
  std::array<gpu::Context, 2> contexts_{driver_.create_context(), driver_.create_context()};
  gpu::Context callers_ = driver_.create_context();
  std::array<std::array<gpu::Stream, 3>, 2> streams_{make_streams(contexts_[0]), make_streams(contexts_[1])};
  std::atomic<unsigned> requests_{0};
};

template <class Kind>
using UnderEveryPolicy =
    testing::Types<Under<Kind, &Policy::value>, Under<Kind, &Policy::lru>, Under<Kind, &Policy::gds>>;

INSTANTIATE_TYPED_TEST_SUITE_P(Exclusive, ContractSuite, UnderEveryPolicy<RemoteKind<Sharing::exclusive>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Shared, ContractSuite, UnderEveryPolicy<RemoteKind<Sharing::shared>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Context, ContractSuite, UnderEveryPolicy<DeviceKind<doubles::ContextPlans>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Stream, ContractSuite, UnderEveryPolicy<DeviceKind<doubles::StreamPlans>>);

}  // namespace larder::core_tests
