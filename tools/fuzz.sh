#!/usr/bin/env bash
# Runs every fuzzer for a number of seconds each: tools/fuzz.sh SECONDS [NAME...]
# New inputs grow build/fuzz/corpus/NAME; a finding stops the run and leaves its input there.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift

cmake --preset fuzz > /dev/null
cmake --build --preset fuzz
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  mapfile -t names < <(find build/fuzz -maxdepth 1 -name '*_fuzz' -type f -printf '%f\n' | sort)
fi
for name in "${names[@]}"; do
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  seeds=()
  [ -d "tests/fuzz/$name" ] && seeds=("tests/fuzz/$name")
  echo "fuzz $name for $seconds s"
  "build/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
    -artifact_prefix="$corpus/" "$corpus" "${seeds[@]}"
done
