#!/usr/bin/env bash
# public_headers.sh INCLUDES: installed headers include nothing but each other, the standard library and the system's, and
# cereal where replicated objects become bytes: user types are written for it; and PFR where fields of samples are found. What the implementation is built with costs no
# user compile time. Exits 1 and names each line that breaks this.
set -eu
cd "${1:?usage: public_headers.sh INCLUDES}"

if grep -rnE --include='*.hpp' '^[[:space:]]*#[[:space:]]*include <((spdlog|fmt|nlohmann|CLI|catch2|benchmark)/|(ini|INIReader|xxhash)\.h)' .; then
  echo 'installed headers include nothing but each other, the standard library and the system'
  exit 1
fi
if grep -rnE --include='*.hpp' '^[[:space:]]*#[[:space:]]*include <cereal/' . | grep -v '/replicated_bytes\.hpp:'; then
  echo 'cereal is for replicated_bytes.hpp alone'
  exit 1
fi
if grep -rnE --include='*.hpp' '^[[:space:]]*#[[:space:]]*include <(boost|fastcdr)/' . | grep -v '/field_kinds\.hpp:[0-9]*:#include <boost/pfr/core\.hpp>'; then
  echo 'of Boost PFR alone is included, by field_kinds.hpp, and nothing of Fast-CDR'
  exit 1
fi
echo "public headers: $(find . -name '*.hpp' | wc -l) stand alone"
