#!/usr/bin/env bash
# subproject.sh CMAKE SOURCE CXX SCRATCH [--build]: another project adds this tree, by add_subdirectory and by FetchContent.
# It gets the libraries alone, and none of our flags, settings and rules of installation, until it asks for more. With
# --build it also links a program and runs it; without, it only compiles that against the headers, for all libraries take minutes.
set -eu
cmake=$1 source=$2 cxx=$3 scratch=$4 build=${5:-}
rm -rf "$scratch"
mkdir -p "$scratch"
failures=0
wrong() {
  echo "$1"
  failures=$((failures + 1))
}

# configure NAME SETTING…: a build of the project without a build type, which ours must not choose for it.
configure() {
  local name=$1
  shift
  "$cmake" -S "$source/tests/consumer/subproject" -B "$scratch/$name" -G Ninja \
    -DCMAKE_CXX_COMPILER="$cxx" -DSPINDRIFT_SOURCE="$source" "$@" \
    >"$scratch/$name.log" 2>&1 || { cat "$scratch/$name.log"; wrong "$name: the project cannot be configured"; }
}

for by in subdirectory fetch; do
  configure $by -DSPINDRIFT_BY=$by
  others=$(grep -vE '^spindrift_[a-z]+ (STATIC|INTERFACE)_LIBRARY$' "$scratch/$by/kinds.txt" || true)
  [ -z "$others" ] || wrong "$by: more than the libraries: $others"
  grep -qx 'spindrift_group STATIC_LIBRARY' "$scratch/$by/kinds.txt" || wrong "$by: the libraries are not there"

  # Every command, from the first source of ours to the link of the program.
  ninja -C "$scratch/$by" -t commands consumer >"$scratch/$by.commands"
  grep -qF "$source/group/group.cpp" "$scratch/$by.commands" || wrong "$by: the program does without the libraries"
  leaked=$(grep -oE -e ' -(W|O|D_FORTIFY|fsanitize|fstack|fcf|fuse-ld|pedantic)[^ ]*|ccache' "$scratch/$by.commands" |
    sort | uniq -c || true)
  [ -z "$leaked" ] || wrong "$by: flags of ours: $leaked"

  "$cmake" --install "$scratch/$by" --prefix "$scratch/$by.prefix" >"$scratch/$by.install.log"
  [ ! -e "$scratch/$by.prefix" ] || wrong "$by: it installs $(find "$scratch/$by.prefix" -type f | head -n 3)"
done

configure more -DSPINDRIFT_BY=subdirectory -DSPINDRIFT_COMMAND=ON -DSPINDRIFT_INSTALL=ON -DCMAKE_BUILD_TYPE=Debug
grep -qx 'spindrift_command EXECUTABLE' "$scratch/more/kinds.txt" || wrong 'SPINDRIFT_COMMAND=ON: there is no command'
! grep -q ' TEST$' "$scratch/more/kinds.txt" || wrong 'SPINDRIFT_COMMAND=ON: there are tests'
grep -q 'spindriftConfig.cmake' "$scratch/more/spindrift/cmake_install.cmake" ||
  wrong 'SPINDRIFT_INSTALL=ON: nothing is installed'

if [ "$build" = --build ]; then
  "$cmake" --build "$scratch/subdirectory" --target consumer
  "$scratch/subdirectory/consumer"
else
  object=$(ninja -C "$scratch/subdirectory" -t targets all | sed -n 's/^\(CMakeFiles\/consumer.dir\/.*\.o\): .*/\1/p')
  ninja -C "$scratch/subdirectory" "$object" >"$scratch/compile.log" ||
    { cat "$scratch/compile.log"; wrong 'a program does not compile against the headers'; }
fi

[ "$failures" -eq 0 ] || exit 1
echo "subproject: libraries alone, and nothing of ours leaks"
