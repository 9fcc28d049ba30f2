#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the benchmarks and prints their table.
#
#   bench/run.sh [--bin DIR] [--out DIR] [--repetitions N] [--min-time SECONDS] [--markdown] [--filter REGEX]
#
# DIR of --bin holds larder_bench and larder_bench_table; shared libraries beside them, in DIR/lib, are used (pack.sh). The
# Java peer runs where a JDK and commons-pool2 are, or where pack.sh has compiled it, and is skipped with a reason elsewhere.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$here/../build/release/bin
out=$here/../build/bench
repetitions=5
min_time=0.03
filter=.
form=()

fail() {
  echo "bench: $*" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --markdown)
      form=(--markdown)
      shift
      ;;
    --bin | --out | --repetitions | --min-time | --filter)
      [ $# -ge 2 ] || fail "$1 takes a value"
      case $1 in
        --bin) bin=$2 ;;
        --out) out=$2 ;;
        --repetitions) repetitions=$2 ;;
        --min-time) min_time=$2 ;;
        --filter) filter=$2 ;;
      esac
      shift 2
      ;;
    *) fail "unknown argument '$1'" ;;
  esac
done
[ -x "$bin/larder_bench" ] || fail "no larder_bench in $bin: build the release preset with libbenchmark-dev installed"
mkdir -p "$out"
[ ! -d "$bin/lib" ] || export LD_LIBRARY_PATH=$bin/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# A budget or policy from the environment would be measured instead of the one that a suite sets.
unset "${!LARDER_@}"

results=("$out/peers.json")
rm -f "$out/peers.json" "$out/jvm.json"
echo "running larder and its peers (some minutes); results in $out"
"$bin/larder_bench" --benchmark_filter="$filter" --benchmark_repetitions="$repetitions" \
  --benchmark_enable_random_interleaving=true --benchmark_min_time="$min_time" \
  --benchmark_out="$out/peers.json" --benchmark_out_format=json >"$out/peers.log" 2>&1 || {
  tail -n 20 "$out/peers.log" >&2
  fail "larder_bench failed"
}

# Prints why the Java peer cannot run, or runs it.
jvm() {
  local jar=$bin/jvm/commons-pool2.jar classes=$bin/jvm
  [ -f "$jar" ] || jar=/usr/share/java/commons-pool2.jar
  [ -f "$jar" ] || { echo "no commons-pool2.jar (apt-get install libcommons-pool2-java)"; return; }
  command -v java >/dev/null || { echo "no java (apt-get install default-jdk-headless)"; return; }
  if [ ! -f "$classes/PoolBench.class" ]; then
    command -v javac >/dev/null || { echo "no javac (apt-get install default-jdk-headless)"; return; }
    classes=$out/jvm
    mkdir -p "$classes"
    javac -cp "$jar" -d "$classes" "$here/jvm/PoolBench.java" >"$out/jvm.log" 2>&1 || { echo "javac failed, see $out/jvm.log"; return; }
  fi
  java -cp "$classes:$jar" PoolBench "$repetitions" >"$out/jvm.json" 2>"$out/jvm.log" || { echo "java failed, see $out/jvm.log"; rm -f "$out/jvm.json"; }
}

if [ "$filter" = . ]; then
  reason=$(jvm)
  if [ -n "$reason" ]; then
    echo "commons-pool2: skipped, $reason"
  else
    results+=("$out/jvm.json")
  fi
fi
echo
if [ -x "$bin/larder_bench_table" ]; then
  "$bin/larder_bench_table" "${form[@]}" "${results[@]}" | tee "$out/table.txt"
else
  cat "$out/peers.log"
fi
