#!/usr/bin/env bash
# rooms.sh TREE: every include respects the one direction of the rooms, and takes of another room only what that one shows
# (SHOWN_HEADERS of its CMakeLists.txt); exits 1 and names each that does not.
# A room may include itself and what its line below names. Tests and benches may include anything, and nothing includes them.
set -eu
cd "${1:?usage: rooms.sh TREE}"

allowed() {
  case $1 in
    core) echo core ;;
    fabric) echo core fabric ;;
    kernel) echo core fabric kernel ;;
    sst) echo core fabric sst ;;
    smc) echo core fabric sst smc ;;
    store) echo core store ;;
    rpc) echo core fabric rpc ;;
    views) echo core fabric sst smc views ;;
    group) echo core fabric kernel sst smc store rpc views group ;;
    dds) echo core fabric rpc group dds ;;
    tools) echo core fabric kernel sst smc store rpc views group dds tools ;;
    examples) echo core fabric group rpc dds examples ;;
  esac
}
rooms='core fabric kernel sst smc store rpc views group dds tools examples'

# shown ROOM: what it shows to others.
shown() {
  [ -f "$1/CMakeLists.txt" ] || return 0
  sed -n '/SHOWN_HEADERS/,/)/p' "$1/CMakeLists.txt" | grep -oE '[A-Za-z0-9_/]+\.(hpp|h)\b' | sed "s|^|$1/|"
}
declare -A may_be_included
for room in $rooms; do
  while IFS= read -r header; do
    may_be_included[$header]=1
    [ -f "$header" ] || { echo "$room/CMakeLists.txt shows $header, which does not exist"; exit 1; }
  done < <(shown "$room")
done

violations=0
violation() {
  echo "$1:$2: $3"
  violations=$((violations + 1))
}

for room in $rooms; do
  [ -d "$room" ] || continue
  known=" $(allowed "$room") "
  while IFS=: read -r file line include; do
    case $include in
      *'"'*)
        [ "$room" = tools ] || [ "$room" = examples ] || violation "$file" "$line" "rooms include <spindrift/ROOM/x.hpp>, not $include" ;;
      *'<spindrift/'*/*)
        header=${include#*<spindrift/}
        header=${header%%>*}
        target=${header%%/*}
        if [[ $known != *" $target "* ]]; then
          violation "$file" "$line" "$room may not include $target"
        elif [ "$target" != "$room" ] && [ -z "${may_be_included[$header]:-}" ]; then
          violation "$file" "$line" "$header is $target's own: it is not among the SHOWN_HEADERS of $target/CMakeLists.txt"
        fi ;;
      *'<spindrift/'*)
        [ "$room" = tools ] || [ "$room" = examples ] || violation "$file" "$line" "the front doors are for users, not for rooms" ;;
    esac
    case $include in
      *tests/* | *bench/*) violation "$file" "$line" "nothing includes tests or benches" ;;
    esac
  done < <(grep -rnE --include='*.hpp' --include='*.cpp' --include='*.h' --include='*.c' '^[[:space:]]*#[[:space:]]*include' "$room" || true)
done

if [ "$violations" -gt 0 ]; then
  echo "$violations includes break the direction of the rooms; see ARCHITECTURE.md"
  exit 1
fi
echo "rooms: every include respects the direction, and takes what is shown"
