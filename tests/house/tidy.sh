#!/usr/bin/env bash
# tidy.sh TREE: the rules of style that a machine can judge; exits 1 and names each line that breaks one.
set -eu
cd "${1:?usage: tidy.sh TREE}"
export LC_ALL=C.UTF-8

# Everything that people write, and nothing that a build made.
mapfile -t texts < <(find . \( -name .git -o -name build -o -name corpus -o -name data \) -prune -o -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.sh' -o -name '*.cmake' -o -name '*.in' \
     -o -name 'CMakeLists.txt' -o -name '*.md' -o -name '*.json' -o -name '*.example' -o -path './tools/*' -o -path './.ci/*' \) \
  ! -name '*.ulg' -print | sort)
mapfile -t sources < <(printf '%s\n' "${texts[@]}" | grep -E '\.(hpp|cpp|h|c)$' || true)

violations=0
# complain WHY LINES: LINES are the offences, one "file:line: text" each; none, no complaint.
complain() {
  [ -n "$2" ] || return 0
  printf '%s\n' "$2" | while IFS= read -r line; do printf '%s  [%s]\n' "$line" "$1"; done
  violations=$((violations + 1))
}

complain 'a tab' "$(grep -nHP '\t' "${texts[@]}" || true)"
complain 'trailing space' "$(grep -nHE ' +$' "${texts[@]}" || true)"
complain 'unfinished' "$(grep -nHE '\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b' "${texts[@]}" || true)"
if [ "${#sources[@]}" -gt 0 ]; then
  complain 'sounds unfinished' "$(grep -nHiE '\b(stub|placeholder|for now|not implemented|not yet implemented)\b' "${sources[@]}" || true)"
  # kernel/vq.c is one file so that a kernel module can take it as it is.
  complain 'over 450 lines: look for the seam' "$(awk 'FNR == 451 && FILENAME != "./kernel/vq.c" { print FILENAME ":451:" }' "${sources[@]}")"
  complain 'over 125 columns' "$(grep -nHP '^.{126,}$' "${sources[@]}" || true)"
  # A file opens with its purpose: a comment in its first line, a #pragma once behind it in a header.
  complain 'no sentence of purpose at the top' "$(awk 'FNR == 1 && !/^(\/\/|\/\*) ?[^ ]/ { print FILENAME ":1: " $0 }' "${sources[@]}")"
fi
# ctest's list of tests is cut at it: what runs is the name before it, which no test has.
complain 'a semicolon in the name of a test' "$(grep -nHP 'TEST_CASE\(.*".*;.*"' "${sources[@]}" || true)"
for header in "${sources[@]}"; do
  [[ $header == *.hpp ]] || continue
  grep -q '^#pragma once$' "$header" || complain 'a header without #pragma once' "$header:1:"
done

[ "$violations" -eq 0 ] || exit 1
echo "tidy: ${#texts[@]} files"
