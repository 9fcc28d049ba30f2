// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// same_abi: whether our declaration of a C function and the vendor's are called in the same way.
#pragma once

#include <type_traits>

namespace larder::gpu_tests {

/// A pointer may be declared as void*, an enumeration as an integer of its size.
template <class Ours, class Theirs>
constexpr bool same_value() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  } else if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  } else {
    constexpr bool integers =
        (std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
    return (integers || std::is_same_v<Ours, Theirs>)&&sizeof(Ours) == sizeof(Theirs);
  }
}

template <class Ours, class Theirs>
struct SameAbi : std::false_type {};
template <class R1, class... A1, class R2, class... A2>
  requires(sizeof...(A1) == sizeof...(A2))
struct SameAbi<R1(A1...), R2(A2...)> : std::bool_constant<same_value<R1, R2>() && (same_value<A1, A2>() && ...)> {};

/// For pointers to functions.
template <class Ours, class Theirs>
constexpr bool same_abi = SameAbi<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>::value;

}  // namespace larder::gpu_tests
