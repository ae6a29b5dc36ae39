# Sourced by tests that start members: a directory of their own that goes with them, in which a group finds its runtime
# directory `run`; the members that they started, by process; and a wait for what a member says.
scratch=$(mktemp -d) || exit 1
members=()
trap 'kill -9 "${members[@]}" 2>/dev/null; wait; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -m 700 run
until_said() { until grep -qs "$1" "$2"; do sleep 0.1; done; }
