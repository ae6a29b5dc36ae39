#!/usr/bin/env bash
# invariants.sh TREE: the ids that the simulator's checkers report are those of the table in tests/sim/README.md, each in the
# files named there and with a test that plants it.
set -eu
cd "${1:?usage: invariants.sh TREE}/tests/sim"
code=$(mktemp) table=$(mktemp)
trap 'rm -f "$code" "$table"' EXIT

# In the code an id is a string of its own; report.hpp only speaks of them.
grep -oE '"[CDMVSRJLPT][0-9]+w?"' -r . --include='*.cpp' --include='*.hpp' --exclude='*_test.cpp' --exclude=report.hpp |
  sed -E 's|^\./||; s/^([^:]*):"(.*)"$/\2 \1/' | sort -u >"$code"
sed -nE 's/^\| ([CDMVSRJLPT][0-9]+w?) \| ([^|]*) \| (.*) \|$/\1 \2/p' README.md | tr -d '`' |
  awk '{ for (i = 2; i <= NF; ++i) print $1, $i }' | sort >"$table"
bad=0
if ! diff "$table" "$code" | sed -n 's/^< /table only: /p; s/^> /code only: /p' | grep .; then :; else bad=1; fi

while IFS='|' read -r id title; do
  grep -qF "TEST_CASE(\"$title\")" ./*_test.cpp || { echo "$id: no test \"$title\""; bad=1; }
  [[ $title == *"$id"[,\)]* ]] || { echo "$id: the test \"$title\" speaks of another"; bad=1; }
done < <(sed -nE 's/^\| ([CDMVSRJLPT][0-9]+w?) \| [^|]* \| (.*) \|$/\1|\2/p' README.md)
twice=$(sed -nE 's/^\| ([CDMVSRJLPT][0-9]+w?) \|.*/\1/p' README.md | sort | uniq -d)
[ -z "$twice" ] || { echo "twice in the table: $twice"; bad=1; }
[ "$(wc -l <"$table")" -gt 0 ] || { echo "no table"; bad=1; }
[ $bad = 0 ] && echo "invariants: $(cut -d' ' -f1 "$code" | uniq | wc -l) ids, each reported, told of and planted"
exit $bad
