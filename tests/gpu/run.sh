#!/usr/bin/env bash
# What training costs and gains on this machine's GPU, in ten minutes at most.
#
#   bash tests/gpu/run.sh [folder with wheels]       default: wheels/
#
# Installs the wheels it is given, without a network and beside what Python has already (torch built for CUDA must be
# there or among them); trains the embedded policy by GRPO and, if there is one, a real model: the folder in MODEL, else
# SmolLM2 where its package is installed. Prints a table and leaves it in OUT (default: runs/gpu) as measured.json.
set -euo pipefail
cd "$(dirname "$0")/../.."
WHEELS=${1:-wheels}
OUT=${OUT:-runs/gpu}
PYTHON=${PYTHON:-python3}
mkdir -p "$OUT"

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L | tee "$OUT/gpu.txt" | grep -q GPU; then
  echo "no NVIDIA GPU found (nvidia-smi -L): this script measures one" >&2
  exit 2
fi
if compgen -G "$WHEELS/*.whl" >/dev/null; then
  "$PYTHON" -m venv --system-site-packages "$OUT/venv"
  PYTHON=$OUT/venv/bin/python
  "$PYTHON" -m pip install --quiet --no-index --no-deps "$WHEELS"/*.whl
fi
if ! "$PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
  echo "$PYTHON has no torch that sees the GPU: give a CUDA build of torch, or name a Python that has one (PYTHON=...)" >&2
  exit 2
fi
PYTHONPATH=. timeout --signal=INT 560 "$PYTHON" tests/gpu/measure.py --out "$OUT" ${MODEL:+--model "$MODEL"}
