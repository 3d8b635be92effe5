#!/usr/bin/env bash
# Installs real Apache Flink (PyFlink 2.3.0) into a virtual environment of its own, for side-by-side runs.
# Prints the path of its Python. usage: setup_flink.sh [DIR]   (default: $FLINK_ORACLE or ~/.cache/flink-oracle)
set -euo pipefail
dir="${1:-${FLINK_ORACLE:-$HOME/.cache/flink-oracle}}"
if ! "$dir/bin/python" -c 'import pyflink' 2>/dev/null; then
  python3 -m venv "$dir"
  "$dir/bin/pip" install -q -U pip 'setuptools<81' wheel
  "$dir/bin/pip" install -q 'apache-flink==2.3.0'
fi
echo "$dir/bin/python"
