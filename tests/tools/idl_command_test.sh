#!/usr/bin/env bash
# idl_command_test.sh SPINDRIFT: `spindrift idl` ends with the code and the words for what is wrong, and writes nothing then.
set -u
spindrift=$1
. "$(dirname "$0")/scratch.sh"
expect() {  # code, a pattern of its words, and the command's own
  local code=$1 words=$2
  shift 2
  "$spindrift" idl "$@" >out 2>errors
  local got=$?
  [ "$got" = "$code" ] || { echo "idl $* ended with $got, not $code"; cat errors; exit 1; }
  [ -z "$words" ] || grep -q -- "$words" out errors || { echo "idl $* does not say: $words"; cat out errors; exit 1; }
}
printf 'struct Point { double x; };\n' >point.idl
printf '#include "point.idl"\nstruct Track { sequence<Point> points; };\n' >track.idl
printf 'struct Good { long a; };\nbitset Bad { bitfield<3> a; };\n' >bad.idl
expect 0 'std::array names{"x"};' point.idl
expect 0 '"name": "Point"' point.idl --print json
expect 2 'there are 2 headers to write.*fix: give a directory' track.idl
expect 0 '' track.idl --output made
[ "$(ls made)" = $'point.hpp\ntrack.hpp' ] || { ls made; exit 1; }
expect 1 'bad.idl:2:1: samples hold no bitset; fix: ' bad.idl --output none
[ ! -e none ] || { echo 'something was written of a file that was refused'; exit 1; }
expect 1 'file gone.idl is not there' gone.idl
expect 7 'the header could not be written' point.idl --output /proc/nothing
expect 2 'is given no FILE'
