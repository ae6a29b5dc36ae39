# Sourced by tests that start members: a directory of their own that goes with them, in which a group finds its runtime
# directory `run`; the members that they started, by process; a group's file; and a wait for what a member says.
scratch=$(mktemp -d) || exit 1
members=()
trap 'kill -9 "${members[@]}" 2>/dev/null; wait; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -m 700 run
# Nodes 0, 1 and 2, and subgroup orders, in group.cfg; who is silent is suspected soon.
write_group_of_three() {
  cat >group.cfg <<END
[SPINDRIFT]
members = 0, 1, 2
runtime_directory = $scratch/run
suspect_after_ms = 500
[LAYOUT]
json_layout = '[{"name": "orders"}]'
END
}
until_said() { until grep -qs "$1" "$2"; do sleep 0.1; done; }
