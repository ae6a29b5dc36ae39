#!/usr/bin/env bash
# rooms.sh TREE: every include respects the one direction of the rooms; exits 1 and names each that does not.
# A room may include itself and what its line below names. Tests and benches may include anything, and nothing includes them.
set -eu
cd "${1:?usage: rooms.sh TREE}"

allowed() {
  case $1 in
    core) echo core ;;
    kernel) echo core kernel ;;
    sst) echo core kernel sst ;;
    smc) echo core kernel sst smc ;;
    store) echo core kernel store ;;
    rpc) echo core kernel rpc ;;
    views) echo core kernel sst smc store rpc views ;;
    dds) echo core kernel sst smc store rpc views dds ;;
    tools) echo core kernel sst smc store rpc views dds tools ;;
    examples) echo core kernel sst smc store rpc views dds examples ;;
  esac
}

violations=0
violation() {
  echo "$1:$2: $3"
  violations=$((violations + 1))
}

for room in core kernel sst smc store rpc views dds tools examples; do
  [ -d "$room" ] || continue
  known=" $(allowed "$room") "
  while IFS=: read -r file line include; do
    case $include in
      *'"'*)
        [ "$room" = tools ] || [ "$room" = examples ] || violation "$file" "$line" "rooms include <spindrift/ROOM/x.hpp>, not $include" ;;
      *'<spindrift/'*/*)
        target=${include#*<spindrift/}
        target=${target%%/*}
        [[ $known == *" $target "* ]] || violation "$file" "$line" "$room may not include $target" ;;
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
echo "rooms: every include respects the direction"
