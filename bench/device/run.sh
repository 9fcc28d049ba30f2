#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Everything that needs a GPU: the tests, and the measurements of docs/gpu.md. `./dev gpu` builds and calls it.
#
#   bench/device/run.sh [--bin DIR] [--out DIR] [--python PYTHON] [tests] [sanitizer] [calls] [churn] [peers]
#
# Without a part's name all of them run. DIR of --bin holds the built programs (shared libraries in DIR/lib are used; see
# bench/pack.sh); raw output and JSON stay in DIR of --out. A part whose tool is missing is skipped with a reason.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$here/../../build/release/bin
out=$here/../../build/gpu
python=python3
parts=()

fail() {
  echo "gpu: $*" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --bin | --out | --python)
      [ $# -ge 2 ] || fail "$1 takes a value"
      case $1 in
        --bin) bin=$2 ;;
        --out) out=$2 ;;
        --python) python=$2 ;;
      esac
      shift 2
      ;;
    tests | sanitizer | calls | churn | peers)
      parts+=("$1")
      shift
      ;;
    *) fail "unknown argument '$1'" ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=(tests sanitizer calls churn peers)
[ -x "$bin/larder_device_test" ] || fail "no larder_device_test in $bin: build the release preset where a CUDA toolkit is"
mkdir -p "$out"
[ ! -d "$bin/lib" ] || export LD_LIBRARY_PATH=$bin/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# A budget or policy from the environment would be measured instead of the one that a part sets.
unset LARDER_MAX_IDLE LARDER_MAX_IDLE_PER_KEY LARDER_MAX_IDLE_BYTES LARDER_MAX_IDLE_AGE LARDER_MAX_LIVE LARDER_POLICY
status=0

tests() {
  "$bin/larder_device_test" --gtest_output="json:$out/tests.json" 2>&1 | tee "$out/tests.txt"
}

# Racecheck and the rest look at kernels, which are the vendor's; what larder can get wrong shows in memcheck. The leak check
# leaves out the tests with contexts of their own, in which cuFFT keeps 7 MB to itself until they are destroyed, and those of
# the handle libraries, whose handles stay for the life of the process.
sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "sanitizer: skipped, no compute-sanitizer on the PATH"; return; }
  local checker=(compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9)
  local slow='*FullCard*:*Lengths*:*SixHundred*:*ByteBudget*'
  "${checker[@]}" "$bin/larder_device_test" --gtest_filter="-$slow" 2>&1 | tee "$out/sanitizer.txt" &&
    "${checker[@]}" --leak-check full "$bin/larder_device_test" --gtest_filter="-$slow:*C30*:*C32*:*C33*:*ThatIsGone*:LibraryDeviceTest*" 2>&1 |
    tee -a "$out/sanitizer.txt"
}

calls() {
  "$bin/larder_device_calls" --benchmark_repetitions=15 --benchmark_min_time=0.05 --benchmark_enable_random_interleaving=true \
    --benchmark_out="$out/calls.json" --benchmark_out_format=json 2>&1 | tee "$out/calls.txt"
}

churn() {
  "$bin/larder" churn --backend cufft --count 6000 --policy none --every 500 --json "$out/churn_unbounded.json" |
    tee "$out/churn.txt" &&
    "$bin/larder" churn --backend cufft --count 6000 --max-idle 64 --every 500 --json "$out/churn_64.json" |
    tee -a "$out/churn.txt" &&
    "$bin/larder" doctor | tee "$out/doctor.txt"
}

# Prints why that library's cache cannot be measured, if it cannot.
missing() {
  command -v "$python" >/dev/null || { echo "no $python"; return; }
  env -u LD_LIBRARY_PATH "$python" -c "import $1" 2>/dev/null || echo "$python has no $1"
}

peers() {
  local lines=$out/hot_cold.jsonl name reason
  : >"$lines"
  # max idle, hot, cold
  while read -r idle hot cold; do
    for name in larder larder-lru none; do
      "$bin/larder_device_hot_cold" "$name" "$idle" "$hot" "$cold" >>"$lines"
    done
    for name in cupy torch; do
      reason=$(missing "$name")
      if [ -n "$reason" ]; then
        echo "$name: skipped, $reason"
        continue
      fi
      # Python has libraries of its own.
      env -u LD_LIBRARY_PATH LD_PRELOAD="$bin/larder_count_plans.so" "$python" "$here/hot_cold.py" "$name" "$idle" "$hot" "$cold" >>"$lines"
    done
  done <<'RUNS'
64 1 4
64 4 4
64 8 8
64 16 4
16 16 4
RUNS
  "$python" "$here/hot_cold_table.py" "$lines" | tee "$out/hot_cold.md"
}

for part in "${parts[@]}"; do
  echo
  echo "== $part"
  case $part in
    tests) tests ;;
    sanitizer) sanitizer ;;
    calls) calls ;;
    churn) churn ;;
    peers) peers ;;
  esac || { echo "gpu: $part failed"; status=1; }
done
exit "$status"
