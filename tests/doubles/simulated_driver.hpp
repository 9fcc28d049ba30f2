// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SimulatedDriver: a GPU driver with N devices that knows right use from wrong.
//
// Contexts: each has an address, reused after it is lost, and an id, never reused. Every thread has a stack of current
// contexts. Streams are timelines that run late: what is given to one stays pending until somebody synchronises with it,
// or finish() lets it run; streams overtake each other as the test likes. Order between streams is tracked by vector
// clocks, so a use that is not ordered after the object's last use by another stream is noticed whatever the timing.
// Memory is accounted per device. Simulated libraries make objects (plans, handles) in the current context and report
// every use of them. Wrong use never stops a test: it is listed in violations().
//
// Captures: what a capturing stream is given goes into a graph, which may run at any time until forget_graphs(). As with
// CUDA (tried with version 13), asking a capturing stream for its id breaks the capture, and so does any call that may
// wait or allocate, by any thread that has not relaxed its capture mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <larder/gpu/driver.hpp>

namespace larder::doubles {

/// Something a simulated library made: a plan, a handle, a generator.
using ObjectId = std::uint64_t;

class SimulatedDriver final : public gpu::Driver {
 public:
  explicit SimulatedDriver(int devices = 1, std::size_t memory_per_device = std::size_t{1} << 30);
  ~SimulatedDriver() override;

  // --- gpu::Driver ---------------------------------------------------------------------------------------------------
  [[nodiscard]] const char* name() const noexcept override { return "simulated"; }
  [[nodiscard]] int device_count() override;
  [[nodiscard]] gpu::Context primary_context(int device) override;
  [[nodiscard]] gpu::Context current() override;
  [[nodiscard]] bool alive(const gpu::Context& context) noexcept override;
  void push(const gpu::Context& context) override;
  void pop() noexcept override;
  [[nodiscard]] bool is_current(const gpu::Context& context) noexcept override;
  void set_current(const gpu::Context& context) noexcept override;
  [[nodiscard]] gpu::MemoryInfo memory() override;
  [[nodiscard]] void* allocate(std::size_t bytes) override;
  void free(void* memory, gpu::Stream stream) noexcept override;
  void free_when_idle(void* memory) noexcept override;
  void wait_until_idle() override;
  [[nodiscard]] bool is_default(gpu::Stream stream) const noexcept override;
  [[nodiscard]] std::uint64_t stream_id(gpu::Stream stream) override;
  [[nodiscard]] std::uint64_t capture_id(gpu::Stream stream) override;
  [[nodiscard]] int relax_capture_mode() noexcept override;
  void restore_capture_mode(int mode) noexcept override;
  [[nodiscard]] gpu::NativeEvent create_event() override;
  void destroy_event(gpu::NativeEvent event) override;
  void record(gpu::NativeEvent event, gpu::Stream stream) override;
  void wait(gpu::Stream stream, gpu::NativeEvent event) override;
  [[nodiscard]] bool done(gpu::NativeEvent event) override;
  void synchronize(gpu::NativeEvent event) override;

  // --- What the test's program does with the device ------------------------------------------------------------------
  /// A context on that device besides its primary one.
  [[nodiscard]] gpu::Context create_context(int device = 0);
  /// Device reset: the context and everything in it is gone; its memory too.
  void lose_context(const gpu::Context& context);
  /// This thread's stack of current contexts, bottom first.
  [[nodiscard]] std::vector<gpu::Context> stack();
  /// A stream of the current context; the addresses of destroyed streams are used again, ids never.
  [[nodiscard]] gpu::Stream create_stream();
  void destroy_stream(gpu::Stream stream);
  /// Everything given to the stream so far, and what that waits for, is done.
  void finish(gpu::Stream stream);
  void begin_capture(gpu::Stream stream);
  /// The stream becomes another branch of the capture that `of` is in, until its own end_capture.
  void join_capture(gpu::Stream stream, gpu::Stream of);
  void end_capture(gpu::Stream stream);
  /// All captured graphs are gone.
  void forget_graphs();

  // --- What simulated libraries call ---------------------------------------------------------------------------------
  /// An object in the current context that holds that much device memory. @throws gpu::OutOfMemory
  [[nodiscard]] ObjectId create_object(const std::string& kind, std::size_t bytes);
  /// Reports a call on the object by the host: wrong when destroyed, or when its context is not current or gone.
  void touch(ObjectId object, const std::string& call);
  /// Gives work to a stream that uses the object and, if any, a work area (memory from allocate()). Also wrong: not
  /// ordered after the object's or the area's last use by another stream, area freed or of another context, object or area
  /// used by a graph too.
  void launch(ObjectId object, gpu::Stream stream, const void* work_area = nullptr);
  /// Wrong also while its work is pending, or a graph uses it.
  void destroy_object(ObjectId object);
  /// Calls the hook, for what a library has no other call of this driver for.
  void call(const std::string& member);
  /// Makes every create_object and destroy_object leave that context current, as some libraries do; {} ends it.
  void make_library_switch_to(const gpu::Context& context);

  // --- Faults and findings -------------------------------------------------------------------------------------------
  /// Called before they do anything, with no lock held, with the name of each Driver member that may throw, of create_object
  /// and destroy_object, and with what call() is given; what it throws, the member throws.
  void set_hook(std::function<void(const std::string& member)> hook);
  [[nodiscard]] std::vector<std::string> violations();
  void report(const std::string& violation);
  /// After wrong use on purpose.
  void forget_violations();
  [[nodiscard]] std::uint64_t objects_created();
  [[nodiscard]] std::uint64_t objects_destroyed();
  /// Device memory in use on that device, by objects and by allocate().
  [[nodiscard]] std::size_t memory_in_use(int device = 0);
  /// Memory given by allocate() and not yet taken back.
  [[nodiscard]] std::size_t allocations(int device = 0);
  [[nodiscard]] std::uint64_t events_alive();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::doubles
