#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs a build into an empty prefix, moves it, and builds a consumer against it, through CMake and through pkg-config.
# usage: check_install.sh BUILD_DIR CONSUMER_DIR VERSION with-fftw|without-fftw
# CXX, CXXFLAGS and CMAKE_GENERATOR are those of the build. Exit code 77: pkg-config is missing, the rest passed.
set -euo pipefail
build=$1 consumer=$2 version=$3 fftw=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved

quietly() {
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "failed: $*"; exit 1; }
}

fail() {
  echo "$*"
  exit 1
}

quietly cmake --install "$build" --prefix "$work/prefix"
mv "$work/prefix" "$prefix"

# A consumer of the core alone, which must not need FFTW, and one of the component.
kinds=(core)
if [ "$fftw" = with-fftw ]; then
  kinds+=(fftw)
fi

libraries=$(dirname "$(find "$prefix" -name 'liblarder.*' | head -n 1)")
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for kind in "${kinds[@]}"; do
  quietly cmake -S "$consumer" -B "$work/$kind" -DCMAKE_PREFIX_PATH="$prefix" -DVERSION="$version" -DKIND="$kind"
  quietly cmake --build "$work/$kind"
  quietly "$work/$kind/consumer"
  echo "find_package, $kind: $(cat "$work/log")"
done
if [ "$fftw" = without-fftw ]; then
  ! cmake -S "$consumer" -B "$work/absent" -DCMAKE_PREFIX_PATH="$prefix" -DVERSION="$version" -DKIND=fftw >"$work/log" 2>&1 ||
    fail "find_package found a component that is not installed"
fi

if ! command -v pkg-config >/dev/null; then
  echo "skipped: pkg-config is not installed, so its files were not tried"
  exit 77
fi
export PKG_CONFIG_PATH=$libraries/pkgconfig
for kind in "${kinds[@]}"; do
  package=larder definitions=()
  if [ "$kind" = fftw ]; then
    package=larder-fftw definitions=(-DCONSUMER_FFTW)
  fi
  [ "$(pkg-config --modversion "$package")" = "$version" ] || fail "$package.pc: version is not $version"
  read -ra flags <<<"$(pkg-config --cflags --libs "$package")"
  read -ra own <<<"${CXXFLAGS:-}"
  quietly "$CXX" -std=c++20 "${own[@]}" "${definitions[@]}" "$consumer/main.cpp" -o "$work/with-$package" "${flags[@]}"
  quietly "$work/with-$package"
  echo "pkg-config $package: $(cat "$work/log")"
done
