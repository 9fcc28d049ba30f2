#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Packs the built benchmarks with every library they load, to run on a machine that has none of them:
#
#   bench/pack.sh [BIN_DIR] [PACK_DIR]        then, over there:  PACK_DIR/run.sh --bin PACK_DIR --out OUT_DIR
#                                             on a GPU:          PACK_DIR/device/run.sh --bin PACK_DIR --out OUT_DIR
#
# The C and C++ run-time libraries travel too, except the dynamic loader, libc and its parts, so the other machine's C
# library must be at least as new as this one's. CUDA's libraries do not travel.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${1:-$here/../build/release/bin}
pack=${2:-$here/../build/bench-pack}
rm -rf "$pack"
mkdir -p "$pack/lib"
programs=(larder_bench larder_bench_table)
if [ -x "$bin/larder_device_calls" ]; then
  programs+=(larder larder_device_calls larder_device_hot_cold larder_device_test larder_count_plans.so)
  mkdir "$pack/device"
  cp "$here/device/"*.sh "$here/device/"*.py "$pack/device"
fi
cp "$here/run.sh" "$pack"
for program in "${programs[@]}"; do
  cp "$bin/$program" "$pack"
  strip "$pack/$program"
done
(cd "$bin" && ldd "${programs[@]}") | awk '$2 == "=>" { print $3 }' | sort -u |
  grep -vE '/(libc|libm|libpthread|libdl|librt|libcu[a-zA-Z]+|libnv[a-zA-Z]+)\.so' | while read -r library; do
  cp -L "$library" "$pack/lib"
done
if command -v javac >/dev/null && [ -f /usr/share/java/commons-pool2.jar ]; then
  mkdir "$pack/jvm"
  cp -L /usr/share/java/commons-pool2.jar "$pack/jvm"
  javac -cp /usr/share/java/commons-pool2.jar -d "$pack/jvm" "$here/jvm/PoolBench.java"
fi
du -sh "$pack"
