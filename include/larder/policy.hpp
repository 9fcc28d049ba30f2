// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policy: which idle handle goes when the budget is exceeded.
//
// A policy is a score over a read-only view of one idle handle. The handle of lowest score is the victim; among equal
// scores it is the one that was returned first. The cache scans its idle handles for each victim (a build costs 0.1 ms
// and up, a scan of thousands of handles some microseconds), so a score needs no data structure of its own. It is computed
// anew for each scan, unless the policy says that it holds until the key is used again.
// Scores see no clock: the same sequence of calls, costs and sizes gives the same victims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace larder {

/// What a policy may know of an idle handle when a victim is chosen.
///
/// Ages and gaps are in requests on this cache, the logical time of policies. Requests that hit without the mutex are
/// counted when the next call takes it, so ages are exact for one thread and approximate for several.
struct EntryView {
  double build_cost;   ///< smoothed wall time of `create` for this key, nanoseconds
  double size;         ///< bytes held, at least 1; always 1 when no byte budget is set
  std::uint64_t uses;  ///< requests for this key that the cache remembers, also from before an eviction
  double age;          ///< requests since the key was last used
  double return_rate;  ///< uses that are expected per request for which the handle is kept, learned from all keys' gaps
  std::size_t spare;   ///< idle handles of the same key that were returned after this one
  double inflation;    ///< highest score evicted from the cache up to the last use of this key (GreedyDual's L)
};

/// How a score changes while its key is not used; so often it is computed.
enum class Aging : std::uint8_t {
  changes,           ///< with every request
  with_return_rate,  ///< only when EntryView::return_rate does: when the age has grown by a quarter
  holds,             ///< not at all; it is computed as of the key's last use
};

/// A named score; a value type that may live in static storage.
///
/// `score` runs under the cache's mutex: it must not call the cache, block or throw.
struct Policy {
  const char* name;
  double (*score)(const EntryView&) noexcept;
  Aging aging = Aging::changes;
  bool guarded = false;  ///< gds chooses instead while `score` has lately cost clearly more than gds would have

  static const Policy
      value;                ///< build cost x expected reuse / size, with history that outlives the handle; the default
  static const Policy lru;  ///< the handle returned longest ago goes first, exactly
  static const Policy gds;  ///< GreedyDual-Size: build cost / size, aged by inflation

  /// The built-in policy of that name, or nullptr.
  [[nodiscard]] static const Policy* find(std::string_view name) noexcept;
};

}  // namespace larder
