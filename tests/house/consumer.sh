#!/usr/bin/env bash
# consumer.sh CMAKE BUILD SOURCE CXX: installs the build into a scratch prefix, moves it, and builds and runs tests/consumer
# against it, once through find_package and once through pkg-config: what is installed must stand without this tree.
set -eu
cmake=$1 build=$2 source=$3 cxx=$4
scratch=$build/tests/consumer
rm -rf "$scratch"
mkdir -p "$scratch"

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/install.log"
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix

# The consumer is built outside of the tree, from a copy, so that nothing of the tree is found by accident.
cp -r "$source/tests/consumer" "$scratch/source"
"$cmake" -S "$scratch/source" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix" -DSPINDRIFT_INCLUDE="$prefix/include" >"$scratch/configure.log"
"$cmake" --build "$scratch/build"
"$scratch/build/consumer"
"$scratch/build/hello"

"$source/tests/house/public_headers.sh" "$prefix/include"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name spindrift.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$scratch/source/main.cpp" -o "$scratch/by_pkg_config" $(pkg-config --cflags --libs spindrift)
"$scratch/by_pkg_config"
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$scratch/source/hello.cpp" -o "$scratch/hello_by_pkg_config" $(pkg-config --cflags --libs spindrift)
"$scratch/hello_by_pkg_config"

for path in bin/spindrift share/man/man1/spindrift.1 share/doc/spindrift/derecho.cfg.example; do
  [ -e "$prefix/$path" ] || { echo "not installed: $path"; exit 1; }
done
documents=$prefix/share/doc/spindrift
for page in $(grep -oE '\]\([A-Za-z0-9/_-]+\.md' "$documents/README.md" | cut -c3-); do
  [ -e "$documents/$page" ] || { echo "README.md points to what is not installed: $page"; exit 1; }
done
if grep -rlF -e "$source/" -e "$scratch/first" "$prefix" --include='*.cmake' --include='*.pc' --include='*.hpp'; then
  echo "installed files name the tree that they came from"
  exit 1
fi
