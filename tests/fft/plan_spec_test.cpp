// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlanSpec: what is one key and what are two, what is refused, and the normal form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <larder/error.hpp>
#include <larder/fft/plan_spec.hpp>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace larder::fft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// What the constructor says about these parameters; empty when it takes them.
std::string complaint(const PlanParameters& parameters) {
  try {
    const PlanSpec spec(parameters);
    return "";
  } catch (const InvalidSpec& refusal) {
    return refusal.what();
  }
}

void expect_same(const PlanParameters& a, const PlanParameters& b) {
  const PlanSpec first(a);
  const PlanSpec second(b);
  EXPECT_EQ(first, second) << first << " and " << second;
  EXPECT_EQ(first.hash(), second.hash());
  EXPECT_EQ(first.describe(), second.describe());
}

void expect_all_different(const std::vector<PlanParameters>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PlanSpec first(all[i]);
    EXPECT_EQ(first, PlanSpec(all[i]));
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const PlanSpec second(all[j]);
      EXPECT_FALSE(first == second) << i << " and " << j << ": " << first;
      EXPECT_NE(first.hash(), second.hash()) << i << " and " << j << ": " << first;
      EXPECT_NE(first.describe(), second.describe()) << i << " and " << j;
    }
  }
}

TEST(PlanSpecCases, C64_EachFieldMakesAnotherKey) {
  const PlanParameters base{.lengths = {6, 8}, .batch = 2};
  std::vector<PlanParameters> all{base};
  const auto flip = [&](const std::function<void(PlanParameters&)>& change) {
    all.push_back(base);
    change(all.back());
  };
  flip([](auto& p) { p.lengths = {8, 6}; });
  flip([](auto& p) { p.lengths = {6, 9}; });
  flip([](auto& p) { p.lengths = {6, 8, 1}; });
  flip([](auto& p) { p.kind = Kind::r2c; });
  flip([](auto& p) { p.kind = Kind::c2r; });
  flip([](auto& p) { p.kind = Kind::r2r, p.real_kinds = {RealKind::dht, RealKind::r2hc}; });
  flip([](auto& p) { p.kind = Kind::r2r, p.real_kinds = {RealKind::r2hc, RealKind::dht}; });
  flip([](auto& p) { p.direction = Direction::backward; });
  flip([](auto& p) { p.precision = Precision::float16; });
  flip([](auto& p) { p.precision = Precision::float32; });
  flip([](auto& p) { p.precision = Precision::long_double; });
  flip([](auto& p) { p.placement = Placement::in_place; });
  flip([](auto& p) { p.batch = 1; });
  flip([](auto& p) { p.batch = 3; });
  flip([](auto& p) { p.input.strides = {16, 1}, p.input.distance = 100; });
  flip([](auto& p) { p.input.stride = 2, p.input.distance = 48; });
  flip([](auto& p) { p.input.distance = 49; });
  flip([](auto& p) { p.input.embed = {6, 9}, p.input.distance = 48; });
  flip([](auto& p) { p.output.strides = {16, 1}, p.output.distance = 100; });
  flip([](auto& p) { p.output.stride = 2, p.output.distance = 48; });
  flip([](auto& p) { p.output.distance = 49; });
  flip([](auto& p) { p.output.embed = {6, 9}, p.output.distance = 48; });
  flip([](auto& p) { p.scale = 0.5; });
  flip([](auto& p) { p.scale = -1; });
  int device = 0;
  flip([&](auto& p) { p.context = {&device, 1}; });
  flip([&](auto& p) { p.context = {&device, 2}; });
  expect_all_different(all);
}

TEST(PlanSpecCases, C64_ContextsAtOneAddressAreToldApartByTheirId) {
  int device = 0;
  EXPECT_FALSE(PlanSpec({.lengths = {8}, .context = {&device, 1}}) ==
               PlanSpec({.lengths = {8}, .context = {&device, 2}}));
}

TEST(PlanSpecCases, C64_PackedLayoutGivenOrLeftOutIsOneKey) {
  const PlanParameters left_out{.lengths = {4, 6, 8}, .batch = 3};
  const Layout by_strides{.strides = {48, 8, 1}, .distance = 192};
  const Layout by_embed{.embed = {4, 6, 8}};
  const Layout by_embed_and_distance{.embed = {99, 6, 8}, .distance = 192};
  for (const Layout& layout : {by_strides, by_embed, by_embed_and_distance}) {
    expect_same(left_out, {.lengths = {4, 6, 8}, .batch = 3, .input = layout});
    expect_same(left_out, {.lengths = {4, 6, 8}, .batch = 3, .output = layout});
    expect_same(left_out, {.lengths = {4, 6, 8}, .batch = 3, .input = layout, .output = layout});
  }
}

TEST(PlanSpecCases, C64_PackedRealToComplexGivenOrLeftOutIsOneKey) {
  expect_same({.lengths = {4, 7}, .kind = Kind::r2c, .batch = 2},
              {.lengths = {4, 7},
               .kind = Kind::r2c,
               .batch = 2,
               .input = {.strides = {7, 1}, .distance = 28},
               .output = {.embed = {4, 4}, .stride = 1, .distance = 16}});
  expect_same({.lengths = {4, 7}, .kind = Kind::r2c, .placement = Placement::in_place, .batch = 2},
              {.lengths = {4, 7},
               .kind = Kind::r2c,
               .placement = Placement::in_place,
               .batch = 2,
               .input = {.embed = {4, 8}},
               .output = {.strides = {4, 1}, .distance = 16}});
}

TEST(PlanSpec, KeepsOnlyWhatMatters) {
  // The distance of a batch of one.
  expect_same({.lengths = {8}}, {.lengths = {8}, .input = {.distance = 17}, .output = {.distance = 99}});
  // The direction of a transform whose kind says it.
  expect_same({.lengths = {8}, .kind = Kind::r2c},
              {.lengths = {8}, .kind = Kind::r2c, .direction = Direction::backward});
  expect_same({.lengths = {8}, .kind = Kind::r2r, .real_kinds = {RealKind::dht}},
              {.lengths = {8}, .kind = Kind::r2r, .direction = Direction::backward, .real_kinds = {RealKind::dht}});
  // The stride of a dimension of one element.
  expect_same({.lengths = {1, 8}}, {.lengths = {1, 8}, .input = {.strides = {500, 1}}});
  expect_same({.lengths = {8, 1}}, {.lengths = {8, 1}, .output = {.strides = {1, 500}}});
  expect_same({.lengths = {1, 8}, .kind = Kind::r2c, .placement = Placement::in_place},
              {.lengths = {1, 8},
               .kind = Kind::r2c,
               .placement = Placement::in_place,
               .input = {.strides = {70, 1}},
               .output = {.strides = {3, 1}}});
}

TEST(PlanSpec, NormalFormIsAStridePerDimensionAndADistance) {
  const PlanSpec spec({.lengths = {3, 4},
                       .kind = Kind::r2c,
                       .precision = Precision::float32,
                       .batch = 5,
                       .input = {.embed = {7, 10}, .stride = 2, .distance = 1000}});
  EXPECT_EQ(spec.rank(), 2U);
  EXPECT_THAT(spec.lengths(), ElementsAre(3, 4));
  EXPECT_THAT(spec.input_lengths(), ElementsAre(3, 4));
  EXPECT_THAT(spec.output_lengths(), ElementsAre(3, 3));
  EXPECT_THAT(spec.input_strides(), ElementsAre(20, 2));
  EXPECT_THAT(spec.output_strides(), ElementsAre(3, 1));
  EXPECT_EQ(spec.input_distance(), 1000);
  EXPECT_EQ(spec.output_distance(), 9);
  EXPECT_EQ(spec.input_extent(), 4 * 1000 + 2 * 20 + 3 * 2 + 1);
  EXPECT_EQ(spec.output_extent(), 45);
  EXPECT_EQ(spec.describe(), "r2c 3x4 float32 out of place batch 5 strides 20,2 -> 3,1 distances 1000 -> 9");
}

TEST(PlanSpec, InPlaceRealRowsArePaddedToTheComplexRows) {
  const PlanSpec even({.lengths = {3, 8}, .kind = Kind::r2c, .placement = Placement::in_place, .batch = 2});
  EXPECT_THAT(even.input_strides(), ElementsAre(10, 1));
  EXPECT_THAT(even.output_strides(), ElementsAre(5, 1));
  EXPECT_EQ(even.input_distance(), 30);
  EXPECT_EQ(even.output_distance(), 15);
  const PlanSpec odd({.lengths = {3, 7}, .kind = Kind::c2r, .placement = Placement::in_place, .batch = 2});
  EXPECT_THAT(odd.input_strides(), ElementsAre(4, 1));
  EXPECT_THAT(odd.output_strides(), ElementsAre(8, 1));
  EXPECT_EQ(odd.input_distance(), 12);
  EXPECT_EQ(odd.output_distance(), 24);
}

TEST(PlanSpec, ComparesAnyRank) {
  expect_all_different({{.lengths = {2, 2, 2}},
                        {.lengths = {2, 2, 2, 2}},
                        {.lengths = {2, 2, 2, 3}},
                        {.lengths = {2, 2, 2, 2, 2}},
                        {.lengths = {3, 2, 2, 2, 2}}});
}

TEST(PlanSpec, CopiesAndMovesKeepTheKeyAtAnyRank) {
  for (const auto& lengths : {std::vector<std::int64_t>{5}, std::vector<std::int64_t>{2, 3, 4, 5, 6}}) {
    const PlanSpec original({.lengths = lengths});
    PlanSpec copy = original;
    EXPECT_EQ(copy, original);
    const PlanSpec moved = std::move(copy);
    EXPECT_EQ(moved, original);
    EXPECT_EQ(moved.hash(), original.hash());
    PlanSpec assigned({.lengths = {9, 9}});
    assigned = original;
    EXPECT_EQ(assigned, original);
  }
}

TEST(PlanSpec, StdHashIsItsOwn) {
  const PlanSpec spec = PlanSpec::c2c({32, 32});
  EXPECT_EQ(std::hash<PlanSpec>{}(spec), spec.hash());
}

TEST(PlanSpec, C2cIsThePackedComplexTransform) {
  EXPECT_EQ(PlanSpec::c2c({4, 8}), PlanSpec({.lengths = {4, 8}}));
  EXPECT_EQ(PlanSpec::c2c({8}, Direction::backward, Precision::float32),
            PlanSpec({.lengths = {8}, .direction = Direction::backward, .precision = Precision::float32}));
}

TEST(PlanSpec, DescribesItselfInWords) {
  EXPECT_EQ(PlanSpec::c2c({1024, 512}).describe(), "c2c 1024x512 forward float64 out of place strides 512,1 -> 512,1");
  std::ostringstream out;
  out << PlanSpec({.lengths = {8, 9},
                   .kind = Kind::r2r,
                   .precision = Precision::long_double,
                   .placement = Placement::in_place,
                   .real_kinds = {RealKind::redft10, RealKind::rodft01},
                   .scale = 0.25,
                   .context = {nullptr, 7}});
  EXPECT_EQ(out.str(), "r2r 8x9 redft10 rodft01 long_double in place strides 9,1 -> 9,1 scale 0.25 context 7");
}

struct Refusal {
  PlanParameters parameters;
  std::string says;
};

TEST(PlanSpecCases, C65_WhatMakesNoSenseIsRefusedWithFieldAndValue) {
  const std::vector<Refusal> refusals{
      {{.lengths = {}}, "lengths is empty"},
      {{.lengths = std::vector<std::int64_t>(65536, 1)}, "lengths has 65536 dimensions"},
      {{.lengths = {0}}, "lengths[0] is 0"},
      {{.lengths = {8, -4}}, "lengths[1] is -4"},
      {{.lengths = {8}, .batch = 0}, "batch is 0"},
      {{.lengths = {8}, .batch = -3}, "batch is -3"},
      {{.lengths = {8}, .input = {.stride = 0}}, "input.stride is 0"},
      {{.lengths = {8}, .output = {.stride = -2}}, "output.stride is -2"},
      {{.lengths = {8}, .batch = 2, .input = {.distance = -8}}, "input.distance is -8"},
      {{.lengths = {8}, .output = {.distance = -1}}, "output.distance is -1"},
      {{.lengths = {4, 8}, .input = {.strides = {8}}}, "input.strides has 1 entries for 2 dimensions"},
      {{.lengths = {4, 8}, .output = {.strides = {8, 0}}}, "output.strides[1] is 0"},
      {{.lengths = {8}, .batch = 2, .input = {.strides = {1}}}, "input.distance, with strides and a batch, is 0"},
      {{.lengths = {8}, .input = {.strides = {1}, .embed = {8}}}, "input has strides and also embed or stride"},
      {{.lengths = {4, 8}, .input = {.embed = {4}}}, "input.embed has 1 entries for 2 dimensions"},
      {{.lengths = {4, 8}, .output = {.embed = {4, 7}}}, "output.embed[1] is 7, smaller than the 8"},
      {{.lengths = {4, 8}, .kind = Kind::r2c, .output = {.embed = {4, 4}}}, "output.embed[1] is 4, smaller than the 5"},
      {{.lengths = {8}, .batch = 2, .input = {.embed = {7}}}, "input.embed[0] is 7, smaller than the 8"},
      {{.lengths = {8}, .scale = 0}, "scale is 0"},
      {{.lengths = {8}, .scale = std::nan("")}, "scale is nan"},
      {{.lengths = {8}, .scale = std::numeric_limits<double>::infinity()}, "scale is inf"},
      {{.lengths = {4, 8}, .kind = Kind::r2r}, "real_kinds has 0 entries"},
      {{.lengths = {4, 8}, .kind = Kind::r2r, .real_kinds = {RealKind::dht}}, "real_kinds has 1 entries"},
      {{.lengths = {8}, .real_kinds = {RealKind::dht}}, "real_kinds has 1 entries"},
  };
  for (const Refusal& refusal : refusals) EXPECT_THAT(complaint(refusal.parameters), HasSubstr(refusal.says));
}

TEST(PlanSpecCases, C65_SizesBeyond64BitsAreRefused) {
  const std::vector<PlanParameters> overflowing{
      {.lengths = {huge, 2}},
      {.lengths = {std::int64_t{1} << 32, std::int64_t{1} << 32}},
      {.lengths = {8}, .batch = huge},
      {.lengths = {8}, .batch = 2, .input = {.distance = huge}},
      {.lengths = {8}, .output = {.stride = huge}},
      {.lengths = {4, 8}, .input = {.embed = {4, huge}}},
      {.lengths = {huge}, .kind = Kind::r2c, .placement = Placement::in_place},
      {.lengths = {huge / 8}},  // elements fit, their 16 bytes each do not
  };
  for (const PlanParameters& parameters : overflowing)
    EXPECT_THAT(complaint(parameters), HasSubstr("more elements than 64 bits count"));
}

TEST(PlanSpecCases, C65_LargeSizesThatFitAreTaken) {
  EXPECT_EQ(complaint({.lengths = {std::int64_t{1} << 40}}), "");
  EXPECT_EQ(complaint({.lengths = {1}, .batch = std::int64_t{1} << 50}), "");
}

TEST(PlanSpec, InPlaceRefusesSidesThatCannotShareAnArray) {
  EXPECT_THAT(complaint({.lengths = {8}, .placement = Placement::in_place, .input = {.stride = 2}}),
              HasSubstr("in place, but input and output have different layouts"));
  EXPECT_THAT(complaint({.lengths = {8}, .placement = Placement::in_place, .batch = 2, .output = {.distance = 9}}),
              HasSubstr("in place, but input and output have different layouts"));
  EXPECT_THAT(
      complaint({.lengths = {4, 8}, .kind = Kind::r2c, .placement = Placement::in_place, .input = {.strides = {8, 1}}}),
      HasSubstr("not padded to twice the complex rows"));
  EXPECT_THAT(complaint({.lengths = {4, 8},
                         .kind = Kind::c2r,
                         .placement = Placement::in_place,
                         .batch = 2,
                         .output = {.embed = {4, 10}, .distance = 41}}),
              HasSubstr("not padded to twice the complex rows"));
}

}  // namespace
}  // namespace larder::fft
