#!/usr/bin/env bash
# test_venv.sh FOLDER: a Python with what tests need from PyPI, made once. Exits with 77 when PyPI cannot be reached.
set -euo pipefail

folder=$1
packages=(openai==3.57.0)

stamp="$folder/packages"
[ "$(cat "$stamp" 2>/dev/null)" = "${packages[*]}" ] && exit 0
python3 -m venv "$folder"
if ! "$folder/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"; then
  echo "SKIPPED: pip could not fetch ${packages[*]} (its message is above): is the network up?" >&2
  exit 77
fi
echo "${packages[*]}" > "$stamp"
