#!/usr/bin/env bash
# self_test.sh SCRATCH CXX NM: plants each kind of violation in a tree of its own and sees the check catch it. A check that
# nothing can fail would be worth nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=${1:?usage: self_test.sh SCRATCH CXX NM} cxx=$2 nm=$3
tree=$scratch/tree
failures=0

fresh() {
  rm -rf "$tree"
  mkdir -p "$tree"/{core,sst,smc,views,tests}
  printf '// Ids.\n#pragma once\n' >"$tree/core/ids.hpp"
  printf 'spindrift_room(core\n  SHOWN_HEADERS\n    ids.hpp)\n' >"$tree/core/CMakeLists.txt"
  printf '// Table.\n#include <spindrift/core/ids.hpp>\n' >"$tree/sst/table.cpp"
  printf '# Read [the ids](core/ids.hpp) in `core/ids.hpp`.\n' >"$tree/README.md"
}

# expect WHAT WORD COMMAND…: the command must exit 1 and say WORD.
expect() {
  local what=$1 word=$2 said status=0
  shift 2
  said=$("$@" 2>&1) || status=$?
  if [ "$status" -ne 1 ] || [[ $said != *"$word"* ]]; then
    echo "not caught: $what (exit $status): $said"
    failures=$((failures + 1))
  fi
}

# plant FILE TEXT: a fresh tree with one more line.
plant() {
  fresh
  mkdir -p "$(dirname "$tree/$1")"
  printf '%b' "$2" >>"$tree/$1"
}

fresh
for check in rooms tidy links public_headers words; do
  "$here/$check.sh" "$tree" >"$scratch/said" 2>&1 || { echo "$check.sh rejects a clean tree:"; cat "$scratch/said"; failures=$((failures + 1)); }
done

plant core/ids.hpp '#include <spindrift/sst/table.hpp>\n'
expect 'core includes sst' 'core may not include sst' "$here/rooms.sh" "$tree"
plant sst/table.cpp '#  include <spindrift/views/member.hpp>\n'
expect 'sst includes views' 'sst may not include views' "$here/rooms.sh" "$tree"
plant sst/table.cpp '#include <spindrift/core/ids_table.hpp>\n'
expect 'an include of what a room keeps for itself' "core/ids_table.hpp is core's own" "$here/rooms.sh" "$tree"
plant core/CMakeLists.txt '# SHOWN_HEADERS gone.hpp)\n'
expect 'a shown header that does not exist' 'core/gone.hpp, which does not exist' "$here/rooms.sh" "$tree"
plant sst/table.cpp '#include "../core/ids.hpp"\n'
expect 'a quoted include' 'rooms include <spindrift/ROOM' "$here/rooms.sh" "$tree"
plant views/a.cpp '#include <spindrift/tests/sim.hpp>\n'
expect 'a room includes tests' 'views may not include tests' "$here/rooms.sh" "$tree"
plant tools/a.cpp '#include "../bench/b.hpp"\n'
expect 'tools include bench' 'nothing includes tests or benches' "$here/rooms.sh" "$tree"
plant smc/a.hpp '#include <spdlog/spdlog.h>\n'
expect 'a heavy public header' 'include nothing but' "$here/public_headers.sh" "$tree"

plant dds/a.hpp '#include <fastcdr/Cdr.h>\n'
expect 'a public header that includes Fast-CDR' 'nothing of Fast-CDR' "$here/public_headers.sh" "$tree"

plant core/ids.hpp '\tint x;\n'
expect 'a tab' 'a tab' "$here/tidy.sh" "$tree"
plant core/ids.hpp 'int x; \n'
expect 'a trailing space' 'trailing space' "$here/tidy.sh" "$tree"
plant core/ids.hpp '// TO''DO: more\n'
expect 'unfinished work' 'unfinished' "$here/tidy.sh" "$tree"
plant sst/table.cpp "$(printf '\\n%.0s' {1..450})"
expect 'a long file' 'over 450 lines' "$here/tidy.sh" "$tree"
plant views/a_test.cpp '// Tests.\nTEST_CASE("one; and another") {}\n'
expect 'a test that ctest cannot name' 'a semicolon in the name' "$here/tidy.sh" "$tree"
plant core/bare.hpp '// Bare.\nint x;\n'
expect 'a header without a guard' 'without #pragma once' "$here/tidy.sh" "$tree"
plant core/mute.hpp '#pragma once\nint x;\n'
expect 'a header without a purpose' 'no sentence of purpose' "$here/tidy.sh" "$tree"

plant README.md '[gone](docs/gone.md)\n'
expect 'a dead link' 'no such file: docs/gone.md' "$here/links.sh" "$tree"
plant README.md '# A title\n[here](README.md#a-title) [gone](README.md#a-title-that-is-gone)\n'
expect 'a link to a heading that is gone' 'no such file: README.md#a-title-that-is-gone' "$here/links.sh" "$tree"
plant README.md 'See `tools/gone`.\n'
expect 'a dead path' 'no such file: tools/gone' "$here/links.sh" "$tree"

# shaped WHAT WORD TEXT: a header of core whose text breaks a limit.
shaped() {
  plant core/shaped.hpp "// Shaped.\n#pragma once\n$3"
  mkdir -p "$tree/docs"
  expect "$1" "$2" "$here/shape.py" "$tree"
}
many() { for i in $(seq "$1"); do printf "$2" "$i"; done; }
shaped 'a class of 17 fields' 'fields core/shaped.hpp A: 17' "struct A {\n$(many 17 '  int f%s;\\n')};\n"
shaped 'a class of 41 functions' 'functions core/shaped.hpp A: 41' "struct A {\n$(many 41 '  int f%s() const;\\n')};\n"
shaped 'a function of 41 lines' 'lines core/shaped.hpp f: 41' "inline int f() {\n$(many 38 '  \\n')  return 1;\n}\n"
shaped 'two types of one name' 'name A: core/shaped.hpp:3' 'struct A { int x; };\nnamespace n {\nclass A { int y; };\n}\n'
plant core/shaped.hpp "// Shaped.\n#pragma once\nstruct A {\n$(many 17 '  int f%s;\\n')};\n"
mkdir -p "$tree/docs" "$tree/tests/house"
echo 'fields core/shaped.hpp A' >"$tree/tests/house/shape.txt"
"$here/shape.py" "$tree" >/dev/null || { echo 'shape.py rejects what is listed'; failures=$((failures + 1)); }
fresh
mkdir -p "$tree/docs"
"$here/shape.py" "$tree" >/dev/null || { echo 'shape.py rejects a clean tree'; failures=$((failures + 1)); }
plant core/ids.hpp '// A connection waits at the door.\n'
expect 'a private word in a comment' 'a private word' "$here/words.sh" "$tree"
plant core/ids.hpp 'struct ConnectedLane {};\n'
expect 'a private word in a name' 'a private word' "$here/words.sh" "$tree"
plant README.md 'The neighbour.\n'
expect 'British spelling' 'American spelling' "$here/words.sh" "$tree"
for begins in '// Who is gone is told of.' '  /// Of a ring: its size.' '/* What the peer said. */' '///< Whose ring it is.' '// A ring. Who reads it waits.'; do
  plant core/ids.hpp "$begins\n"
  expect "a comment that begins '$begins'" 'a comment begins with its subject' "$here/words.sh" "$tree"
done
plant core/ids.hpp '// A member that is gone is told of. The others hear who it was, of what, and where.\n'
"$here/words.sh" "$tree" >/dev/null || { echo 'words.sh rejects a comment that begins with its subject'; failures=$((failures + 1)); }

# documented FILE CHANGE: a tree whose documents follow its code, with one file changed by sed.
documented() {
  fresh
  mkdir -p "$tree"/{core/config,docs/decisions}
  printf 'choice_of({"SPINDRIFT", "fabric", choice},\n"shm|vq:tcp", "vq:verbs")\n' >"$tree/core/config/key_table.cpp"
  printf '| `shm` |\n| `vq:tcp` |\n## Each promise\n| all | rows stay | `rows stay` |\n## How\n' >"$tree/SECURITY.md"
  mkdir -p "$tree/tests/sst"
  printf 'TEST_CASE(\n    "rows "\n    "stay") {\n' >"$tree/tests/sst/row_test.cpp"
  printf 'log::warn(log::Room::sst,\n  "row lost", {});\n' >"$tree/sst/row.cpp"
  printf '| `row lost` |\n' >"$tree/docs/troubleshoot.md"
  printf 'struct Row {};\n' >"$tree/sst/row.hpp"
  printf '| *row* | memory | `Row` |\n| *table* | rows | `row.hpp` |\n' >"$tree/docs/glossary.md"
  printf '## Context\n## Decision\n## Alternatives\n## Consequences\n' >"$tree/docs/decisions/0001-rows.md"
  printf '[0001](0001-rows.md)\n' >"$tree/docs/decisions/README.md"
  printf '[a](troubleshoot.md) [b](glossary.md)\n' >"$tree/docs/index.md"
  sed -i "$2" "$tree/$1"
}
documented docs/index.md ''
"$here/documents.sh" "$tree" >/dev/null || { echo 'documents.sh rejects documents that follow the code'; failures=$((failures + 1)); }
documented core/config/key_table.cpp 's/vq:tcp/verbs/'
expect 'a fabric without a row' 'no row for the fabric verbs' "$here/documents.sh" "$tree"
documented tests/sst/row_test.cpp 's/rows/lines/'
expect 'a promise whose test is gone' 'no such test: rows stay' "$here/documents.sh" "$tree"
documented sst/row.cpp 's/row lost/row found/'
expect 'an unknown line of the log' 'log line: row found' "$here/documents.sh" "$tree"
documented sst/row.hpp 's/Row/Line/'
expect 'a name of the glossary that is gone' 'is called Row' "$here/documents.sh" "$tree"
documented docs/glossary.md 's/\*table\*/*row*/'
expect 'a word that is defined twice' 'defined twice: *row*' "$here/documents.sh" "$tree"
documented docs/decisions/0001-rows.md '/Alternatives/d'
expect 'a decision without alternatives' 'no heading: ## Alternatives' "$here/documents.sh" "$tree"
documented docs/decisions/README.md 's/0001-rows/gone/'
expect 'a decision that the index lacks' 'no row for docs/decisions/0001-rows.md' "$here/documents.sh" "$tree"
documented docs/index.md 's/glossary/troubleshoot/'
expect 'a page that is not on the map' 'does not lead to docs/glossary.md' "$here/documents.sh" "$tree"

# checked ROW CODE TEST: a simulator with one row, one line of code and one test.
checked() {
  fresh
  mkdir -p "$tree/tests/sim"
  printf '%s\n' "$1" >"$tree/tests/sim/README.md"
  printf '%s\n' "$2" >"$tree/tests/sim/a.cpp"
  printf '%s\n' "$3" >"$tree/tests/sim/a_test.cpp"
}
row='| V9 | `a.cpp` | a count that grows is found (V9) |' line='violate("V9");' planted='TEST_CASE("a count that grows is found (V9)") {'
checked "$row" "$line" "$planted"
"$here/invariants.sh" "$tree" >/dev/null || { echo "invariants.sh rejects a true table"; failures=$((failures + 1)); }
checked "$row" "$line violate(\"M1\");" "$planted"
expect 'an id that the table lacks' 'code only: M1 a.cpp' "$here/invariants.sh" "$tree"
checked "$row" '' "$planted"
expect 'an id that nothing reports' 'table only: V9 a.cpp' "$here/invariants.sh" "$tree"
checked "$row" "$line" ''
expect 'an id that nothing plants' 'V9: no test' "$here/invariants.sh" "$tree"
checked "$row"$'\n'"$row" "$line" "$planted"
expect 'an id with two rows' 'twice in the table: V9' "$here/invariants.sh" "$tree"
checked '| V9 | `a.cpp` | another (M1) |' "$line" 'TEST_CASE("another (M1)") {'
expect 'a test of another id' 'speaks of another' "$here/invariants.sh" "$tree"

# stale CHANGE: a mutant of the fresh tree, changed by sed.
stale() {
  fresh
  mkdir -p "$tree/tests/mutants"
  printf 'mutant m\nfile core/ids.hpp\nwhy  ids\n- // Ids.\n+ // No ids.\n' | sed "$1" >"$tree/tests/mutants/a.txt"
}
mutate=$here/../../tools/mutate
stale ''
"$mutate" --check --tree "$tree" >/dev/null || { echo 'mutate --check rejects a mutant that applies'; failures=$((failures + 1)); }
stale 's/Ids/Idz/'
expect 'a stale mutant' 'occurs 0 times' "$mutate" --check --tree "$tree"
stale 's/^- .*/- \//'
expect 'an ambiguous mutant' 'occurs 2 times' "$mutate" --check --tree "$tree"
stale 's/ids.hpp/gone.hpp/'
expect 'a mutant of a file that is gone' 'no such file' "$mutate" --check --tree "$tree"
stale 's/No ids/Ids/'
expect 'a mutant that changes nothing' 'changes nothing' "$mutate" --check --tree "$tree"
stale 'p'
expect 'two mutants of one name' 'two of this name' "$mutate" --check --tree "$tree"

# impure BODY: an object that asks the world.
impure() {
  printf '#include <chrono>\n#include <cstdlib>\n#include <mutex>\n#include <random>\n#include <unistd.h>\n%s\n' "$1" >"$scratch/impure.cpp"
  "$cxx" -std=c++20 -O1 -c "$scratch/impure.cpp" -o "$scratch/impure.o"
  expect "impure: $1" 'needs' "$here/pure.sh" "$nm" "$scratch/impure.o"
}
impure 'auto f() { return std::chrono::steady_clock::now(); }'
impure 'int f() { return rand(); }'
impure 'unsigned f() { return std::random_device{}(); }'
impure 'void f() { usleep(1); }'
impure 'void f(std::mutex& m) { m.lock(); }'
printf 'int f(int x) { return x + 1; }\n' >"$scratch/pure.cpp"
"$cxx" -c "$scratch/pure.cpp" -o "$scratch/pure.o"
"$here/pure.sh" "$nm" "$scratch/pure.o" >/dev/null || { echo "pure.sh rejects a pure object"; failures=$((failures + 1)); }

[ "$failures" -eq 0 ] || exit 1
echo "self-test: every planted violation was caught"
