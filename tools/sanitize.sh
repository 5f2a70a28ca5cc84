#!/usr/bin/env bash
# Builds and tests under ASan+UBSan, and the concurrent parts under TSan.
set -euo pipefail
cd "$(dirname "$0")/.."

concurrent=(base memory backend/cpu backend/sim engine runner service server/http server/openai server/supervisor server)

cmake --preset debug > /dev/null
cmake --build --preset debug
ctest --preset debug --parallel 2

targets=()
for layer in "${concurrent[@]}"; do targets+=("${layer//\//_}_test"); done
cmake --preset tsan > /dev/null
cmake --build --preset tsan --target "${targets[@]}"
ctest --preset tsan --parallel 2 -R "^($(IFS='|'; echo "${concurrent[*]}"))/"
