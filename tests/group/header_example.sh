#!/usr/bin/env bash
# header_example.sh COMPILER HEADER -I…: the example in the comment that HEADER opens with compiles as it stands there.
set -eu
compiler=$1 header=$2
shift 2
example=$(sed -n '/^#pragma once/q; s,^//   ,,p; s,^//$,,p' "$header")
[ "$(wc -l <<<"$example")" -gt 5 ] || { echo "no example in $header"; exit 1; }
printf '#include <map>\n#include <string>\n#include "%s"\n%s\n' "$header" "$example" |
  "$compiler" -std=c++20 -Wall -Wextra -Wno-unused-variable -Werror -fsyntax-only "$@" -x c++ -
echo 'it compiles'
