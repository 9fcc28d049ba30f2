// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ReturnModel: how likely a handle is to be asked for again soon, learned from the requests on one cache.
//
// A gap is the number of requests between two uses of a key. Gaps fall into octaves: octave i holds those from 2^i up to
// 2^(i+1). For keys used about as often (a class: once, twice or thrice, four to seven times...) the model counts how
// many gaps have reached an octave, and how many of those ended in it: the chance that a key which was not used for so
// long is used within the octave. The chances of one key are those of its class, corrected by its own last gaps.
//
// From them follows the return rate of an idle handle: of all times for which it could be kept from now on, the best ratio
// of the chance that it is used by then to the requests for which it is held until then. (This is the Gittins index of a
// job that ends when the key is used; ages matter, since the next use of a key of a loop comes nearer while it waits.)
//
// A gap that has not ended counts in the octaves that it has reached; what is forgotten before it ended counts so too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <larder/detail/key_record.hpp>

namespace larder::detail {

class ReturnModel {
 public:
  /// `count` uses of a key, the last of them at `time`.
  void note_uses(KeyUse& use, std::uint64_t count, std::uint64_t time) noexcept;

  /// The key was not used again up to `time`.
  void note_no_use(KeyUse& use, std::uint64_t time) noexcept;

  /// Expected uses per request for which a handle of this key is kept from `time` on; more than 0.
  ///
  /// It holds until the key is used or its age has grown by a quarter, so that looking at many keys stays cheap.
  [[nodiscard]] double return_rate(KeyUse& use, std::uint64_t time) noexcept;

 private:
  static constexpr std::size_t octaves = 16;
  static constexpr std::size_t classes = 7;

  struct Gaps {
    double reached = 0;
    double ended = 0;
    void add(double count, bool end) noexcept;
  };

  [[nodiscard]] static std::size_t octave_of(std::uint64_t gap) noexcept;
  [[nodiscard]] static std::size_t class_of(const KeyUse& use) noexcept;
  void count(const KeyUse& use, std::size_t octave, double gaps, bool end) noexcept;
  [[nodiscard]] double chance_of_end(const KeyUse& use, std::size_t octave) const noexcept;

  std::array<Gaps, octaves> of_all_{};
  std::array<std::array<Gaps, octaves>, classes> of_class_{};
};

}  // namespace larder::detail
