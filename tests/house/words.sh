#!/usr/bin/env bash
# words.sh TREE: sources and documents speak the field's language, in American spelling, and comments name what they speak of. Words that
# this project once used for its plumbing are refused where their last use is gone; exits 1 and names each line.
set -eu
cd "${1:?usage: words.sh TREE}"
export LC_ALL=C.UTF-8

# Rooms that are through with the old words. A room that is not in the list is being cleared; when it is clean it belongs here.
clean=(core fabric kernel sst smc views group tools bench examples docs tests store rpc dds README.md ARCHITECTURE.md SECURITY.md CONTRIBUTING.md CHANGELOG.md)
plumbing='lane|seat|suitor|road|shelf|knock|door|letter|bury|punish'
plumbing_in_names='Lane|Seat|Suitor|Road|Shelf|Knock|Door|Letter|Bury|Punish'
british='(?i:behaviour|colour|favour|neighbour|honour|labour|rumour|centre|metre|fibre|defence|offence|licence|analyse|catalogue|modelled'
british+='|modelling|cancelled|cancelling|travelled|labelled|signalled|signalling|levelled|programme|whilst|amongst|towards|artefact'
british+='|judgement|organis|realis(?!t)|optimis(?!t)|initialis|serialis|recognis|synchronis|summaris|normalis|minimis|maximis|generalis|specialis'
british+='|prioritis|utilis|authoris|characteris|finalis|randomis|standardis|stabilis|visualis)'

# A comment or a sentence in it that begins so leaves its subject to the reader to guess: "Who is gone is told of" for "A member that is gone is told of".
riddle='^\s*(//[/!]?|/\*+)<?\s*(Who|What|Of|Where|Whose|Whom|Whoever)\b|(//|/\*).*[.:;] (Who|Whoever|Whose|Whom)\b(?!\?)'

violations=0
# refuse WHY PATTERN PATH…: names the lines below the paths that match.
refuse() {
  local why=$1 pattern=$2 lines
  shift 2
  lines=$(for path in "$@"; do
    [ ! -e "$path" ] || grep -rnP --include='*.hpp' --include='*.cpp' --include='*.h' --include='*.c' --include='*.md' --include='*.1' \
      "$pattern" "$path" || true
  done)
  [ -n "$lines" ] || return 0
  printf '%s\n' "$lines" | while IFS= read -r line; do printf '%s  [%s]\n' "$line" "$why"; done
  violations=$((violations + 1))
}

refuse 'a private word: see docs/glossary.md' \
  "(?<![A-Za-z])(?i:$plumbing)(s|es|ed|ing)?(?![a-z])|(?<=[a-z])($plumbing_in_names)s?(?![a-z])|(?i:buried|shelves)" "${clean[@]}"
refuse 'American spelling' "$british" "${clean[@]}"
refuse 'a comment begins with its subject' "$riddle" "${clean[@]}"

[ "$violations" -eq 0 ] || exit 1
echo "words: ${clean[*]}"
