// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ReturnModel: its rates worked out by hand where it knows nothing, and their order where it has learned.
#include "src/core/return_model.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace larder::detail {
namespace {

TEST(ReturnModelTest, WithoutAnyGapAnOctaveIsAsLikelyToEndAGapAsNot) {
  ReturnModel model;
  KeyUse use;
  model.note_uses(use, 1, 10);
  // From age 1 to 2 it is used with chance 1/2, and held for 3/4 of a request on average. Longer times have lower ratios:
  // to 4, chance 3/4 and held 3/4 + 1/2 x 2 x 3/4 = 3/2.
  EXPECT_DOUBLE_EQ(model.return_rate(use, 11), 2.0 / 3);
}

TEST(ReturnModelTest, AnAgeWithinAnOctaveLeavesTheRestOfIt) {
  ReturnModel model;
  KeyUse use;
  model.note_uses(use, 1, 10);
  // At age 3 half of the octave from 2 to 4 is left. Of four gaps that reach it one ends before 3 and one after, so of
  // three that reach 3 one ends by 4: chance 1/3, held 5/6. To 8: chance 2/3, held 5/6 + 2/3 x 4 x 3/4, a lower ratio.
  EXPECT_DOUBLE_EQ(model.return_rate(use, 13), (1.0 / 3) / (5.0 / 6));
}

TEST(ReturnModelTest, ARateHoldsUntilTheAgeHasGrownByAQuarter) {
  ReturnModel model;
  KeyUse use;
  model.note_uses(use, 1, 0);
  const double at_100 = model.return_rate(use, 100);
  EXPECT_EQ(use.rate_until, 125U);
  EXPECT_EQ(model.return_rate(use, 124), at_100);
  EXPECT_NE(model.return_rate(use, 125), at_100);
}

TEST(ReturnModelTest, AUseEndsWhatWasComputed) {
  ReturnModel model;
  KeyUse use;
  model.note_uses(use, 1, 0);
  const double old = model.return_rate(use, 100);
  model.note_uses(use, 1, 101);
  EXPECT_GT(model.return_rate(use, 102), old);
}

TEST(ReturnModelTest, InALoopTheKeyThatWaitedLongestIsTheNextOne) {
  ReturnModel model;
  std::array<KeyUse, 100> keys{};
  std::uint64_t time = 0;
  for (int round = 0; round < 5; ++round) {
    for (KeyUse& key : keys) model.note_uses(key, 1, ++time);
  }
  // Ages are 100, 51 and 1.
  const double oldest = model.return_rate(keys[0], time + 1);
  const double middle = model.return_rate(keys[49], time + 1);
  const double newest = model.return_rate(keys[99], time + 1);
  EXPECT_GT(oldest, 1.5 * middle);
  EXPECT_GT(middle, 1.5 * newest);
}

TEST(ReturnModelTest, KeysUsedOnceAreNotExpectedAgainWhereFewCame) {
  ReturnModel model;
  KeyUse hot;
  std::uint64_t time = 0;
  for (int round = 0; round < 50; ++round) {
    model.note_uses(hot, 1, ++time);
    for (int i = 0; i < 4; ++i) {
      KeyUse once;
      model.note_uses(once, 1, ++time);
      model.note_no_use(once, time + 1000);
    }
  }
  KeyUse fresh;
  model.note_uses(fresh, 1, time);
  EXPECT_GT(model.return_rate(hot, time + 1), 10 * model.return_rate(fresh, time + 1));
}

TEST(ReturnModelTest, SeveralUsesAtOnceCountAsThatManyGaps) {
  ReturnModel one_by_one;
  ReturnModel at_once;
  KeyUse a;
  KeyUse b;
  one_by_one.note_uses(a, 1, 0);
  at_once.note_uses(b, 1, 0);
  for (std::uint64_t time = 20; time <= 100; time += 20) one_by_one.note_uses(a, 1, time);
  at_once.note_uses(b, 5, 100);
  EXPECT_EQ(a.uses, b.uses);
  EXPECT_EQ(a.recent_gaps, b.recent_gaps);
  EXPECT_EQ(a.last_use, b.last_use);
}

TEST(ReturnModelTest, AgesBeyondTheLastOctaveStillHaveARate) {
  ReturnModel model;
  KeyUse use;
  model.note_uses(use, 1, 0);
  const double at_a_million = model.return_rate(use, 1'000'000);
  const double at_a_billion = model.return_rate(use, 1'000'000'000);
  EXPECT_GT(at_a_million, at_a_billion);
  EXPECT_GT(at_a_billion, 0);
}

TEST(ReturnModelTest, ATimeThatSeemsToRunBackwardsIsNoGap) {
  ReturnModel model;
  KeyUse use;
  model.note_uses(use, 1, 100);
  model.note_uses(use, 3, 90);
  EXPECT_EQ(use.last_use, 100U);
  EXPECT_GT(model.return_rate(use, 50), 0);
}

}  // namespace
}  // namespace larder::detail
