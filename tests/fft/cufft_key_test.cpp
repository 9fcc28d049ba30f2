// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What makes two requests for a cuFFT plan the same, and what is refused before cuFFT hears of it.
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/error.hpp>
#include <larder/fft/cufft.hpp>

namespace larder::fft::cufft {
namespace {

using testing::HasSubstr;

gpu::Context context_of(std::uint64_t id) { return {reinterpret_cast<void*>(std::uintptr_t{0x1000}), id}; }

PlanParameters parameters(std::vector<std::int64_t> lengths, Kind kind = Kind::c2c) {
  PlanParameters p;
  p.lengths = std::move(lengths);
  p.kind = kind;
  p.precision = Precision::float32;
  p.context = context_of(1);
  return p;
}

PlanKey key(const PlanParameters& p) { return PlanKey(PlanSpec(p)); }

std::string refusal(const PlanParameters& p, const Callbacks& callbacks = {}) {
  try {
    (void)PlanKey(PlanSpec(p), callbacks);
  } catch (const InvalidSpec& error) {
    return error.what();
  }
  return "accepted";
}

void expect_same(const PlanKey& a, const PlanKey& b) {
  EXPECT_TRUE(a == b) << a.describe() << "\n" << b.describe();
  EXPECT_EQ(std::hash<PlanKey>{}(a), std::hash<PlanKey>{}(b));
  EXPECT_EQ(a.describe(), b.describe());
}

std::vector<std::byte> code(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

void* address(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

Callbacks legacy_callbacks() {
  return {.load = {.function = address(0x10), .caller_info = address(0x20), .shared_bytes = 64},
          .store = {.function = address(0x30)}};
}

Callbacks lto_callbacks() {
  return {.load = {.name = "load", .code = code("LTO-IR"), .caller_info = address(0x20)},
          .store = {.name = "store", .code = code("more LTO-IR")}};
}

TEST(CufftKey, C64_EachFieldMakesAnotherKey) {
  PlanParameters p = parameters({12, 10, 8});
  p.batch = 4;
  p.input = {.embed = {12, 11, 9}, .stride = 2, .distance = 3000};
  p.output = {.embed = {12, 12, 10}, .stride = 3, .distance = 5000};
  std::vector<PlanKey> keys{key(p)};
  const auto flip = [&](const auto& change) {
    PlanParameters other = p;
    change(other);
    keys.push_back(key(other));
  };
  flip([](PlanParameters& o) { o.lengths[0] = 11; });
  flip([](PlanParameters& o) { o.lengths[1] = 9; });
  flip([](PlanParameters& o) { o.lengths[2] = 7; });
  flip([](PlanParameters& o) { o.lengths.pop_back(), o.input.embed.pop_back(), o.output.embed.pop_back(); });
  flip([](PlanParameters& o) { o.batch = 5; });
  flip([](PlanParameters& o) { o.kind = Kind::r2c; });
  flip([](PlanParameters& o) { o.kind = Kind::c2r; });
  flip([](PlanParameters& o) { o.precision = Precision::float64; });
  flip([](PlanParameters& o) { o.precision = Precision::float16; });
  flip([](PlanParameters& o) { o.input.embed[1] = 12; });
  flip([](PlanParameters& o) { o.input.embed[2] = 10; });
  flip([](PlanParameters& o) { o.input.stride = 1; });
  flip([](PlanParameters& o) { o.input.distance = 3001; });
  flip([](PlanParameters& o) { o.output.embed[1] = 13; });
  flip([](PlanParameters& o) { o.output.embed[2] = 11; });
  flip([](PlanParameters& o) { o.output.stride = 2; });
  flip([](PlanParameters& o) { o.output.distance = 5001; });
  flip([](PlanParameters& o) { o.context = context_of(2); });
  const auto with = [&](const Callbacks& callbacks) { keys.emplace_back(PlanSpec(p), callbacks); };
  const auto flip_callbacks = [&](Callbacks callbacks, const auto& change) {
    change(callbacks);
    with(callbacks);
  };
  with(legacy_callbacks());
  flip_callbacks(legacy_callbacks(), [](Callbacks& o) { o.load.function = address(0x11); });
  flip_callbacks(legacy_callbacks(), [](Callbacks& o) { o.load.caller_info = address(0x21); });
  flip_callbacks(legacy_callbacks(), [](Callbacks& o) { o.load.shared_bytes = 65; });
  flip_callbacks(legacy_callbacks(), [](Callbacks& o) { o.store.function = address(0x31); });
  flip_callbacks(legacy_callbacks(), [](Callbacks& o) { o.store = {}; });
  flip_callbacks(legacy_callbacks(), [](Callbacks& o) { o.load = {}; });
  flip_callbacks(legacy_callbacks(), [](Callbacks& o) { std::swap(o.load, o.store); });
  with(lto_callbacks());
  flip_callbacks(lto_callbacks(), [](Callbacks& o) { o.load.name = "load2"; });
  flip_callbacks(lto_callbacks(), [](Callbacks& o) { o.load.code[0] = std::byte{'X'}; });
  flip_callbacks(lto_callbacks(), [](Callbacks& o) { o.store.code.push_back(std::byte{'X'}); });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(keys[i] == keys[j]) << i << " and " << j << ": " << keys[i].describe();
      EXPECT_NE(keys[i].hash(), keys[j].hash()) << i << " and " << j;
    }
  }
}

TEST(CufftKey, DirectionAndPlacementAreGivenAtExecution) {
  PlanParameters p = parameters({64, 32});
  p.batch = 3;
  PlanParameters backward = p;
  backward.direction = Direction::backward;
  PlanParameters in_place = p;
  in_place.placement = Placement::in_place;
  expect_same(key(p), key(backward));
  expect_same(key(p), key(in_place));
}

TEST(CufftKey, PackedLayoutsMayBeGivenOrLeftOut) {
  PlanParameters p = parameters({6, 5, 4}, Kind::r2c);
  p.batch = 3;
  PlanParameters given = p;
  given.input = {.embed = {6, 5, 4}, .stride = 1, .distance = 120};
  given.output = {.strides = {15, 3, 1}, .distance = 90};
  expect_same(key(p), key(given));
  EXPECT_TRUE(key(p).packed());
}

TEST(CufftKey, TheSameCallbacksFromOtherMemoryAreTheSame) {
  const PlanSpec spec(parameters({64}));
  expect_same(PlanKey(spec, legacy_callbacks()), PlanKey(spec, legacy_callbacks()));
  expect_same(PlanKey(spec, lto_callbacks()), PlanKey(spec, lto_callbacks()));
  expect_same(PlanKey(spec, Callbacks{}), PlanKey(spec));
}

TEST(CufftKey, InPlaceRealRowsArePaddedAndSoAreTheSameOutOfPlace) {
  PlanParameters p = parameters({3, 8}, Kind::r2c);
  p.placement = Placement::in_place;
  p.batch = 2;
  const PlanKey in_place = key(p);
  EXPECT_EQ(in_place.input(), (DataLayout{{3, 10, 0}, 1, 30}));
  EXPECT_EQ(in_place.output(), (DataLayout{{3, 5, 0}, 1, 15}));
  EXPECT_FALSE(in_place.packed());
  EXPECT_TRUE(in_place.fits_in_place());
  PlanParameters padded = parameters({3, 8}, Kind::r2c);
  padded.batch = 2;
  padded.input = {.embed = {3, 10}};
  expect_same(in_place, key(padded));
  PlanParameters unpadded = parameters({3, 8}, Kind::r2c);
  unpadded.batch = 2;
  EXPECT_FALSE(key(unpadded) == in_place);
  EXPECT_FALSE(key(unpadded).fits_in_place());
}

TEST(CufftKey, FitsInPlaceWhereTheSpecDoes) {
  for (const Kind kind : {Kind::c2c, Kind::r2c, Kind::c2r}) {
    for (const std::vector<std::int64_t>& lengths : std::vector<std::vector<std::int64_t>>{
             {1}, {8}, {9}, {1, 1}, {4, 1}, {1, 8}, {4, 9}, {4, 1, 6}, {1, 4, 1}, {3, 4, 5}}) {
      for (const std::int64_t batch : {1, 3}) {
        PlanParameters p = parameters(lengths, kind);
        p.batch = batch;
        p.placement = Placement::in_place;
        EXPECT_TRUE(key(p).fits_in_place()) << key(p).describe();
      }
    }
  }
  PlanParameters strided = parameters({8});
  strided.output.stride = 2;
  EXPECT_FALSE(key(strided).fits_in_place());
  EXPECT_TRUE(key(parameters({8}, Kind::c2r)).fits_in_place());
  EXPECT_FALSE(key(parameters({2, 8}, Kind::c2r)).fits_in_place());
}

TEST(CufftKey, StridesBecomeEmbeddings) {
  PlanParameters p = parameters({4, 3, 2});
  p.input = {.strides = {60, 12, 3}};
  p.output = {.strides = {6, 2, 1}};
  p.input.distance = 1000;
  p.batch = 2;
  p.output.distance = 24;
  EXPECT_EQ(key(p).input(), (DataLayout{{4, 5, 4}, 3, 1000}));
  EXPECT_EQ(key(p).output(), (DataLayout{{4, 3, 2}, 1, 24}));
}

TEST(CufftKey, DimensionsOfOneElementNeverStandInTheWay) {
  PlanParameters p = parameters({4, 1, 3});
  p.input = {.embed = {4, 2, 5}};  // steps of 10, 5 and 1; the 5 is never taken
  EXPECT_EQ(key(p).input(), (DataLayout{{4, 1, 10}, 1, 40}));
  PlanParameters leading = parameters({1, 1, 3});
  leading.input = {.strides = {7, 7, 2}};
  EXPECT_EQ(key(leading).input(), (DataLayout{{1, 1, 3}, 2, 6}));
  PlanParameters trailing = parameters({4, 1, 1});
  trailing.input = {.strides = {5, 3, 2}};
  EXPECT_EQ(key(trailing).input(), (DataLayout{{4, 1, 5}, 1, 20}));
}

TEST(CufftKey, LayoutsThatNoEmbeddingGivesAreRefused) {
  PlanParameters transposed = parameters({4, 3});
  transposed.input = {.strides = {1, 4}};
  EXPECT_THAT(refusal(transposed), HasSubstr("input strides 1 and 4 of dimensions 0 and 1"));
  PlanParameters broken = parameters({4, 3});
  broken.output = {.strides = {7, 2}};
  EXPECT_THAT(refusal(broken), HasSubstr("output strides 7 and 2"));
  PlanParameters overlapping = parameters({4, 3});
  overlapping.input = {.strides = {2, 1}};
  EXPECT_THAT(refusal(overlapping), HasSubstr("input strides 2 and 1"));
}

TEST(CufftKey, C65_WhatCufftCannotDoIsRefused) {
  PlanParameters real = parameters({8}, Kind::r2r);
  real.real_kinds = {RealKind::dht};
  EXPECT_THAT(refusal(real), HasSubstr("real-to-real"));
  PlanParameters extended = parameters({8});
  extended.precision = Precision::long_double;
  EXPECT_THAT(refusal(extended), HasSubstr("long double"));
  PlanParameters scaled = parameters({8});
  scaled.scale = 0.5;
  EXPECT_THAT(refusal(scaled), HasSubstr("scale is 0.5"));
  EXPECT_THAT(refusal(parameters({2, 2, 2, 2})), HasSubstr("4 dimensions"));
  EXPECT_THAT(refusal(parameters({})), HasSubstr("lengths is empty"));
  EXPECT_THAT(refusal(parameters({8, 0})), HasSubstr("lengths[1] is 0"));
  EXPECT_THAT(refusal(parameters({-8})), HasSubstr("-8"));
  EXPECT_THAT(refusal(parameters({std::numeric_limits<std::int64_t>::max(), 8})), HasSubstr("64 bits"));
}

TEST(CufftKey, CallbacksAreOfOneSortAndWhole) {
  const PlanParameters p = parameters({8});
  EXPECT_THAT(refusal(p, {.load = {.function = address(1), .name = "f", .code = code("x")}}),
              HasSubstr("one of the two"));
  EXPECT_THAT(refusal(p, {.store = {.name = "f"}}), HasSubstr("the store callback has only one of LTO name and code"));
  EXPECT_THAT(refusal(p, {.store = {.code = code("x")}}), HasSubstr("only one"));
  EXPECT_THAT(refusal(p, {.load = {.caller_info = address(1)}}), HasSubstr("caller info"));
  EXPECT_THAT(refusal(p, {.load = {.shared_bytes = 1}}), HasSubstr("shared memory"));
}

TEST(CufftKey, IsDescribedInWords) {
  PlanParameters p = parameters({3, 8}, Kind::r2c);
  EXPECT_EQ(key(p).describe(), "r2c 3x8 float32 packed context 1");
  p.placement = Placement::in_place;
  p.batch = 2;
  EXPECT_EQ(PlanKey(PlanSpec(p), lto_callbacks()).describe(),
            "r2c 3x8 float32 batch 2 in 3x10 stride 1 distance 30 -> 3x5 stride 1 distance 15 load callback load store "
            "callback store context 1");
}

}  // namespace
}  // namespace larder::fft::cufft
