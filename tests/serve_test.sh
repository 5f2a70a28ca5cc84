#!/usr/bin/env bash
# serve_test.sh TONNAGE SOURCE_DIR BUILD_DIR: serve_test.py in a Python that has the official openai client
set -euo pipefail
"$2/scripts/test_venv.sh" "$3/test_venv"
exec "$3/test_venv/bin/python" "$2/tests/serve_test.py" "$1" "$2"
