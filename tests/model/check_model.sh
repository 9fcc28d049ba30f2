#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Searches slot_protocol.pml exhaustively: the protocol must hold in every configuration, and each broken variant of it
# must be found out, by the check named for it. Ends with 77 (skipped) where spin or a C compiler is missing.
# usage: check_model.sh    environment: CC, the C compiler
set -euo pipefail

model=$(cd "$(dirname "$0")" && pwd)/slot_protocol.pml
compiler=${CC:-cc}
for tool in spin "$compiler"; do
  command -v "$tool" >/dev/null && continue
  echo "skipped: the model is searched by spin, compiled as C, and $tool is not installed"
  exit 77
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# search OPTIMISATION DEFINE...: leaves the verdict in $work/verdict. The definitions are the model's parameters.
search() {
  local optimisation=$1
  shift
  (
    cd "$work"
    spin -a "${@/#/-D}" "$model" >spin.log || { cat spin.log; exit 1; }
    "$compiler" "$optimisation" -w -DSAFETY -DCOLLAPSE -DMEMLIM=4096 -o pan pan.c
    ./pan -m1000000 -w22 >verdict
  )
}

report() {
  printf '%-6s %s\n' "$1" "$2"
  [ "$1" = ok ] || { failures=$((failures + 1)); cat "$work/verdict"; }
}

holds() {
  search -O2 "$@"
  local states
  states=$(awk '/states, stored/ { print $1 }' "$work/verdict")
  if grep -q 'errors: 0' "$work/verdict" && ! grep -Eq 'not completed|too small' "$work/verdict"; then
    report ok "holds in all $states states: ${*}"
  else
    report FAILED "${*}"
  fi
}

# found_out CHECK DEFINE...: the search must end with that check's error.
found_out() {
  local check=$1
  shift
  search -O1 "$@"
  if grep 'errors: 1' "$work/verdict" >/dev/null && grep -Fq "$check" "$work/verdict"; then
    report ok "found out: ${*}"
  else
    report FAILED "expected '$check': ${*}"
  fi
}

holds BUILDS=3
holds BUILDS=2 ORDERING
holds BUILDS=2 DEFERRING
holds BUILDS=2 KEYS=2 TRIMMING
holds BUILDS=2 RESIZING
holds BUILDS=2 GROWING MAX_IDLE=2
holds BUILDS=3 KEYS=2 MAX_LIVE=1
holds BUILDS=2 THREADS=3 SLOTS=1
holds SHARED BUILDS=3 FAILING
holds SHARED BUILDS=2 ORDERING DEFERRING
holds SHARED BUILDS=2 RESIZING
holds SHARED BUILDS=2 KEYS=2 GROWING MAX_IDLE=2
holds SHARED BUILDS=2 GROWING
holds SHARED BUILDS=2 KEYS=2 MAX_LIVE=1
holds SHARED BUILDS=2 THREADS=3 SLOTS=1

claimed_later='serial[s]==remembered_serial'
used_twice='users[s]==0'
destroyed_in_use='exists[i]&&(users[i]==0)'
over_budget='in_budget_bytes)&&(total<=limit)'
ledger_wrong='in_budget[j]=='
unordered='know_thread'
cleared_kept='condemned[j]'
waits_for_ever='invalid end state'
core_gone='!(deleted)'

found_out "$claimed_later" BREAK_CLAIM_IGNORES_GENERATION
found_out "$claimed_later" BREAK_VACATE_KEEPS_GENERATION
found_out "$used_twice" BREAK_CLAIM_IGNORES_UNLOCKED
found_out "$ledger_wrong" SHARED BREAK_CLAIM_IGNORES_UNLOCKED
found_out "$destroyed_in_use" BREAK_EVICT_WITHOUT_IDLE_CHECK
found_out "$ledger_wrong" BREAK_TAKE_PLACE_OF_IDLE
found_out "$destroyed_in_use" BREAK_RETURN_IGNORES_UNLOCKED
found_out "$ledger_wrong" BREAK_RETIRE_LEAVES_UNLOCKED
found_out "$destroyed_in_use" SHARED BREAK_RETURN_COUNTS_LEASES_ONCE
found_out "$cleared_kept" BREAK_PUBLISH_IGNORES_CLEAR
found_out "$over_budget" SHARED GROWING BREAK_GROWTH_NOT_ENFORCED
found_out "$destroyed_in_use" DEFERRING BREAK_DRAIN_LINK_AFTER_COUNT
found_out "$waits_for_ever" MAX_LIVE=1 BREAK_WAIT_WITHOUT_LOOKING_AGAIN
found_out "$core_gone" BREAK_CORE_READ_AFTER_RETURN
found_out "$unordered" SHARED ORDERING BREAK_KEEP_RELAXED
found_out "$unordered" SHARED ORDERING BREAK_DROP_LAST_RELAXED

if [ "$failures" -gt 0 ]; then
  echo "$failures searches did not end as they must"
  exit 1
fi
