#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs a build into an empty prefix and builds a consumer against it.
# usage: check_install.sh BUILD_DIR CONSUMER_DIR CXX CXXFLAGS fftw|none
set -euo pipefail
build=$1 consumer=$2 cxx=$3 flags=$4 component=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"

cmake -S "$consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$flags" \
  -DCOMPONENT="$component" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/cmake" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/cmake/consumer"

package=larder
[ "$component" = fftw ] && package="larder-fftw"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name larder.pc)")
# shellcheck disable=SC2086,SC2046  # flags are lists of words
"$cxx" -std=c++20 $flags $([ "$component" = fftw ] && echo -DCONSUMER_FFTW) "$consumer/main.cpp" -o "$work/consumer" \
  $(pkg-config --define-variable=prefix="$work/prefix" --cflags --libs "$package")
"$work/consumer"
