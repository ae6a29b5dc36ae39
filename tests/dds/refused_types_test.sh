#!/bin/bash
# refused_types_test.sh BINARY_DIR COMPILER…: what cannot be a topic's type, or is no C++20, gives one error, which says why.
set -euo pipefail
binary_dir=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
includes=()
for room in "$binary_dir"/include/*/; do includes+=("-I$room"); done

# refused NAME STANDARD SENTENCE < PROGRAM
refused() {
  cat > "$scratch/$1.cpp"
  if "${compiler[@]}" "-std=$2" "${includes[@]}" -fsyntax-only "$scratch/$1.cpp" > "$scratch/said" 2>&1; then
    echo "$1 compiles"
    exit 1
  fi
  grep -qF "$3" "$scratch/said" || { echo "$1: nothing says: $3"; cat "$scratch/said"; exit 1; }
  if [ "$(grep -cE '(^|: )(fatal )?error: ' "$scratch/said")" != 1 ]; then
    echo "$1 gives more than one error:"
    cat "$scratch/said"
    exit 1
  fi
}
compiler=("$@")
# program TYPES: a program that uses Sample, which they are or lead to.
program() {
  cat <<END
#include <dds/dds.hpp>
struct Base { std::int32_t id; };
$1
int main() {
  const dds::domain::DomainParticipant participant(0);
  const dds::topic::Topic<Sample> topic(participant, "samples");
  dds::pub::DataWriter<Sample> writer(dds::pub::Publisher(participant), topic);
  dds::sub::DataReader<Sample> reader(dds::sub::Subscriber(participant), topic);
  writer.write(Sample{});
  return static_cast<int>(reader.take().length());
}
END
}
program 'struct Sample { std::int32_t id; float values[3]; std::string text; };' |
  refused array c++20 'write std::array<float, 3> for float[3]'
program 'struct Sample : Base { double value; };' | refused base c++20 'has no base class'
program 'struct Of : Base { double value; }; struct Sample { std::optional<Of> one; };' | refused within c++20 'has no base class'
program 'struct Sample { std::optional<std::optional<int>> maybe; };' | refused nested c++20 'an optional is not directly within another'
program 'struct Sample { std::map<float, int> values; };' | refused keys c++20 'the keys of a map are integers'
refused older c++17 'Spindrift needs C++20: compile with -std=c++20' <<END
#include <dds/dds.hpp>
END
