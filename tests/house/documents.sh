#!/usr/bin/env bash
# documents.sh TREE: documents that must follow the code do; exits 1 and names each gap. Every fabric that a configuration may name has a row in
# SECURITY.md, and each test that is said to hold a promise there exists; every warning and error of the log is in docs/troubleshoot.md; what the
# glossary calls the word in the code exists, and no word is defined twice; every decision has the template's form and a row in the index; every page
# is on the map.
set -eu
cd "${1:?usage: documents.sh TREE}"
rooms='core fabric kernel sst smc store rpc views group dds tools'

gaps=0
gap() {
  echo "$1: $2"
  gaps=$((gaps + 1))
}

fabrics=$(sed -n '/"fabric", choice/,/"vq:verbs"/p' core/config/key_table.cpp | grep -oE '"shm\|[^"]*"' | tr -d '"' | tr '|' '\n')
[ -n "$fabrics" ] || gap core/config/key_table.cpp 'no choices of the key fabric are found'
for fabric in $fabrics; do
  grep -qF "| \`$fabric\` |" SECURITY.md || gap SECURITY.md "no row for the fabric $fabric"
done

# Rows of the promises: | fabric | promise | `test`; `test` |. A long name of a test is in several literals.
names=$([ ! -d tests ] || find tests -name '*_test.cpp' -exec cat {} + | tr '\n' ' ' | sed -E 's/" +"//g; s/TEST_CASE(_METHOD)?\(([A-Za-z]+,)? *"/TEST_CASE("/g')
while IFS= read -r name; do
  [[ $names == *"TEST_CASE(\"$name\""* ]] || gap SECURITY.md "no such test: $name"
done < <(sed -n '/^## Each promise/,/^## How/p' SECURITY.md | grep -E '^\|' | awk -F'|' '{ print $(NF - 1) }' | grep -oE '`[^`]+`' | tr -d '`')

# An event's name follows the room, perhaps in the next line.
events=$(for room in $rooms; do
  [ ! -d "$room" ] || find "$room" -name '*.cpp' -exec cat {} + | tr '\n' ' ' |
    grep -oE 'log::(warn|error)\(log::Room::[a-z]+, +"[^"]+"' | sed -E 's/^[^"]*"(.*)"$/\1/' || true
done | sort -u)
[ -n "$events" ] || gap docs/troubleshoot.md 'no line of the log is found in the code'
while IFS= read -r event; do
  grep -qF "\`$event\`" docs/troubleshoot.md || gap docs/troubleshoot.md "nothing about the log line: $event"
done <<<"$events"

# Rows of the glossary: | *word* | meaning | `name` |
while IFS= read -r name; do
  case $name in
    *.?pp) found=$(find . -name build -prune -o -name "$name" -print) ;;
    *) found=$(for room in $rooms; do [ ! -d "$room" ] || grep -rlwF --include='*.hpp' --include='*.h' -- "$name" "$room" || true; done) ;;
  esac
  [ -n "$found" ] || gap docs/glossary.md "nothing in the code is called $name"
done < <(grep -E '^\| \*' docs/glossary.md | awk -F'|' '{ print $(NF - 1) }' | grep -oE '`[^`]+`' | tr -d '`' | sort -u)
while IFS= read -r word; do gap docs/glossary.md "defined twice: $word"; done \
  < <(grep -E '^\| \*' docs/glossary.md | awk -F'|' '{ print $2 }' | grep -oE '\*[^*]+\*' | sort | uniq -d)

for page in docs/decisions/[0-9]*.md; do
  for heading in Context Decision Alternatives Consequences; do
    grep -qx "## $heading" "$page" || gap "$page" "no heading: ## $heading"
  done
  grep -qF "]($(basename "$page"))" docs/decisions/README.md || gap docs/decisions/README.md "no row for $page"
done

for page in docs/*.md; do
  [ "$page" = docs/index.md ] || grep -qF "]($(basename "$page"))" docs/index.md || gap docs/index.md "does not lead to $page"
done

[ "$gaps" -eq 0 ] || exit 1
echo "documents: they follow the code"
