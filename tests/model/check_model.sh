#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Searches the model of the slot protocol exhaustively: no error as it is, and an error for every rule that is broken on
# purpose. Prints the number of states of each search.
# usage: check_model.sh MODEL
set -euo pipefail
model=$(realpath "$1")

for tool in spin gcc; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool (apt-get install spin gcc)"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

# search DEFINE...: prints the number of errors found, or nothing when the search did not end
search() {
  rm -f pan*
  spin -a "$@" "$model" >spin.log 2>&1 || { cat spin.log >&2; return 0; }
  gcc -O2 -w -DSAFETY -o pan pan.c
  timeout 300 ./pan -m400000 -w24 >pan.log 2>&1 || true
  states=$(grep -oE '[0-9]+ states, stored' pan.log | grep -oE '^[0-9]+' || true)
  # A search that ran out of depth or memory proves nothing.
  if grep -qE 'max search depth too small|out of memory' pan.log; then return 0; fi
  grep -oE 'errors: [0-9]+' pan.log | grep -oE '[0-9]+' || true
}

holds() {
  local errors
  search "$@" >errors
  errors=$(cat errors)
  echo "holds   $* (${states:-no} states)"
  [ "$errors" = 0 ] || { echo "FAILED: errors '${errors:-search did not end}'"; tail -n 20 pan.log; failed=1; }
}

is_caught() {
  local errors
  search "$@" >errors
  errors=$(cat errors)
  echo "caught  $*"
  [ "${errors:-0}" -gt 0 ] || { echo "FAILED: the broken rule was not noticed"; failed=1; }
}

holds
holds -DSHARED
holds -DDEFERRING -DBUILDS=2
holds -DSHARED -DDEFERRING -DBUILDS=2
holds -DRESIZING -DBUILDS=2
holds -DKEYS=2 -DBUILDS=2
holds -DGROWING -DBUILDS=2
holds -DSHARED -DGROWING -DBUILDS=2
holds -DSHARED -DFAILING
holds -DMAX_LIVE=1
holds -DORDERING -DBUILDS=2
holds -DORDERING -DSHARED -DBUILDS=2
holds -DORDERING -DSHARED -DBUILDS=2 -DMAX_IDLE=0
holds -DPLAIN -DBUILDS=2
holds -DPLAIN -DRESIZING -DBUILDS=2
holds -DPLAIN -DKEYS=2 -DBUILDS=2
holds -DPLAIN -DGROWING -DBUILDS=2
holds -DPLAIN -DMAX_LIVE=1 -DBUILDS=2
holds -DPLAIN -DORDERING -DBUILDS=2

is_caught -DBREAK_CLAIM_IGNORES_GENERATION
is_caught -DBREAK_CLAIM_IGNORES_UNLOCKED
is_caught -DBREAK_CLAIM_IGNORES_UNLOCKED -DSHARED
is_caught -DBREAK_EVICT_WITHOUT_IDLE_CHECK -DKEYS=2 -DBUILDS=2
is_caught -DBREAK_RETIRE_LEAVES_UNLOCKED -DKEYS=2 -DBUILDS=2
is_caught -DBREAK_TAKE_PLACE_OF_IDLE -DKEYS=2 -DBUILDS=2
is_caught -DBREAK_VACATE_KEEPS_GENERATION -DKEYS=2 -DBUILDS=2
is_caught -DBREAK_PUBLISH_IGNORES_CLEAR -DKEYS=2 -DBUILDS=2
is_caught -DBREAK_RETURN_IGNORES_UNLOCKED -DKEYS=2 -DBUILDS=2
is_caught -DBREAK_WAIT_WITHOUT_LOOKING_AGAIN -DMAX_LIVE=1
is_caught -DBREAK_GROWTH_NOT_ENFORCED -DGROWING -DSHARED -DBUILDS=2
is_caught -DBREAK_RETURN_COUNTS_LEASES_ONCE -DGROWING -DSHARED -DBUILDS=2
is_caught -DBREAK_LAST_RETURN_RELAXED -DORDERING -DSHARED -DBUILDS=2
is_caught -DBREAK_LAST_RETURN_RELAXED -DORDERING -DSHARED -DBUILDS=2 -DMAX_IDLE=0
is_caught -DBREAK_CORE_READ_AFTER_RETURN -DBUILDS=2
is_caught -DBREAK_DRAIN_LINK_AFTER_COUNT -DSHARED -DDEFERRING -DBUILDS=2
is_caught -DBREAK_RETURNS_NOT_INTERRUPTED -DPLAIN -DBUILDS=2
is_caught -DBREAK_CHANGE_NOT_LOOKED_AT -DPLAIN -DBUILDS=2
is_caught -DBREAK_LOOK_BEFORE_THE_SEQUENCE -DPLAIN -DBUILDS=2
exit "$failed"
