#!/usr/bin/env bash
# Runs every micro-benchmark briefly, so that none rots: tools/bench_smoke.sh BUILD_DIR
set -euo pipefail
for bench in "$1"/*_bench; do
  echo "$(basename "$bench")"
  "$bench" --benchmark_min_time=0.01 > /dev/null
done
