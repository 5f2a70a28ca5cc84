#!/usr/bin/env bash
# Installs every Debian package that building, testing and running Tonnage needs. Does nothing when all are there.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config git
  clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev
  nlohmann-json3-dev libfmt-dev libspdlog-dev libcli11-dev libssl-dev libboost1.81-dev
  libcurl4-openssl-dev prometheus-cpp-dev
  libhwy-dev libpcre2-dev libicu-dev libedit-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  python3 python3-pip python3-venv xz-utils
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
echo "Installing: ${missing[*]}" >&2
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
