#!/usr/bin/env bash
# Runs every fuzzer for a number of seconds each: tools/fuzz.sh SECONDS [NAME...]
# FUZZ_SEED makes a run repeatable; without it every run differs. New inputs grow build/fuzz/corpus/NAME; a finding stops the run and leaves its input there.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift

cmake --preset fuzz > /dev/null
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  mapfile -t names < <(find src -name '*_fuzz.cc' -printf '%f\n' | sed 's/\.cc$//' | sort)
fi
cmake --build --preset fuzz --target "${names[@]}"
for name in "${names[@]}"; do
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  seeds=()
  [ -d "tests/fuzz/$name" ] && seeds=("tests/fuzz/$name")
  echo "fuzz $name for $seconds s"
  "build/fuzz/$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -seed="${FUZZ_SEED:-0}" -print_final_stats=0 -verbosity=0 \
    -artifact_prefix="$corpus/" "$corpus" "${seeds[@]}"
done
