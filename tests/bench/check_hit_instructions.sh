#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fails when a hit (acquire + release) takes over 5 % more instructions than is on record.
#
#   check_hit_instructions.sh [--record] PROGRAM RECORD COMPILER
#
# The count is exact and the same on every run: instructions of two runs of PROGRAM under callgrind, subtracted. It depends
# on the compiler, so a line of RECORD is "COMPILER WHAT INSTRUCTIONS". Exit code 77 (skipped) where there is nothing to
# compare with. --record prints the lines for this compiler instead.
set -euo pipefail

record_only=false
if [ "${1:-}" = --record ]; then
  record_only=true
  shift
fi
program=$1 record=$2 compiler=$3
skip() {
  echo "skipped: $*"
  exit 77
}

command -v valgrind >/dev/null || skip "valgrind is not installed"
$record_only || grep -q "^$compiler " "$record" ||
  skip "no instruction counts on record for $compiler; record them with --record"

few=1000 many=101000
log=$(mktemp)
trap 'rm -f "$log"' EXIT
instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
  sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p' "$log"
}

status=0
for what in exclusive_int exclusive_plan shared_int shared_plan; do
  # A count from outside the pairs, such as a hash table's first growth, cancels out.
  counted=$((($(instructions "$what" $many) - $(instructions "$what" $few)) / (many - few)))
  if $record_only; then
    echo "$compiler $what $counted"
    continue
  fi
  allowed=$(awk -v compiler="$compiler" -v what="$what" '$1 == compiler && $2 == what { print $3 }' "$record")
  [ -n "$allowed" ] || { echo "$what: no count on record for $compiler" >&2; exit 1; }
  echo "$what: $counted instructions per hit, $allowed on record"
  if [ $((counted * 100)) -gt $((allowed * 105)) ]; then
    echo "$what: more than 5 % over the record; make the hit cheaper, or record the new count and say why" >&2
    status=1
  fi
done
exit $status
