#!/usr/bin/env bash
# The attention kernels use tensor cores and spill no register to local memory.
#   check_attention_kernels.sh NVCC LIBRARY SOURCE_DIR
# Reads the SASS of every architecture in LIBRARY where cuobjdump is installed; else compiles the
# kernels for one architecture and reads what ptxas says.
set -euo pipefail
nvcc=$1 library=$2 source=$3
export PATH="$(dirname "$nvcc"):$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $1" >&2; exit 1; }

if command -v cuobjdump >/dev/null && command -v nvdisasm >/dev/null; then
  cuobjdump -res-usage "$library" >"$work/usage" 2>&1 || fail "cuobjdump -res-usage"
  cuobjdump -sass "$library" >"$work/sass" 2>/dev/null || fail "cuobjdump -sass"
  awk '/Function .*flash_kernel/ { kernel = 1; next }
       /Function / { kernel = 0 }
       kernel && /REG:/ { seen++; if ($0 !~ /LOCAL:0/ || $0 !~ /STACK:0/) { print; bad = 1 } }
       END { print seen + 0 " attention kernels without local memory"; exit bad || !seen }' \
    "$work/usage" || fail "an attention kernel uses local memory, or none was found"
  awk '/Function : / { if (name && !mma) bad = 1; name = ""; mma = 0 }
       /Function : .*flash_kernel/ { name = $0; seen++ }
       name && /HMMA/ { mma++ }
       END { if (name && !mma) bad = 1
             print seen + 0 " attention kernels with tensor-core instructions"
             exit bad || !seen }' \
    "$work/sass" || fail "an attention kernel has no tensor-core instructions (HMMA)"
  exit 0
fi

echo "no cuobjdump: compiling for sm_80 and reading ptxas"
for file in "$source"/cuda/attention/flash_{64,128,192,256}.cu; do
  name=$(basename "$file" .cu)
  "$nvcc" -std=c++20 -O3 -arch=sm_80 -Xptxas -v --keep --keep-dir "$work" -I"$source" \
    -I"$source/src" -cubin -o "$work/$name.cubin" "$file" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "$file does not compile"; }
  grep -q ' 0 bytes spill stores, 0 bytes spill loads' "$work/log" ||
    { cat "$work/log" >&2; fail "$name spills registers"; }
  grep -q 'mma.sync.aligned.m16n8k16' "$work/$name.ptx" || fail "$name has no tensor-core instructions"
  echo "$name: tensor cores, no spills, $(grep -o 'Used [0-9]* registers' "$work/log" | head -n 1)"
done
