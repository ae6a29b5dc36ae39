// Contacts instead of members, and who founds then.
#include <spindrift/core/config/load_contacts.hpp>

#include <fmt/format.h>

namespace spindrift::config {

bool asks_contacts(Loaded& loaded) { return !value_of(loaded, "SPINDRIFT", "contacts").text.empty(); }

bool told_by_contacts(Loaded& loaded) {
  return asks_contacts(loaded) && value_of(loaded, "SPINDRIFT", "members").rank == OriginRank::standard;
}

bool bootstraps(Loaded& loaded) { return value_of(loaded, "SPINDRIFT", "bootstrap").text == "true"; }

std::vector<NodeId> own_node(Loaded& loaded) {
  Value& value = value_of(loaded, "SPINDRIFT", "members");
  value.text = value_of(loaded, "DERECHO", "local_id").text;
  value.origin = "default, this node alone, because [SPINDRIFT] contacts tell of the others";
  return ids_of(value);
}

void load_founders_by_contacts(Loaded& loaded, std::vector<Error>& problems) {
  Value& value = value_of(loaded, "SPINDRIFT", "founders");
  if (!value.text.empty()) {
    report(problems, value.origin, "founders are named, and this node founds the group alone, or not at all",
           fmt::format("remove [SPINDRIFT] founders, or {}", bootstraps(loaded) ? "bootstrap" : "name members"));
  } else if (bootstraps(loaded)) {
    value.text = value_of(loaded, "DERECHO", "local_id").text;
    value.origin = "default, because [SPINDRIFT] bootstrap is true";
  } else {
    value.origin = "default, none, because [SPINDRIFT] contacts tell of the group";
  }
}

void check_contacts(Loaded& loaded, std::vector<Error>& problems) {
  const Value& contacts = value_of(loaded, "SPINDRIFT", "contacts");
  const Value& bootstrap = value_of(loaded, "SPINDRIFT", "bootstrap");
  const Value& fabric = value_of(loaded, "SPINDRIFT", "fabric");
  if (contacts.unusable || bootstrap.unusable || fabric.unusable) return;
  if (bootstrap.text == "true" && value_of(loaded, "DERECHO", "local_id").rank == OriginRank::standard) {
    report(problems, bootstrap.origin, "this node would found the group, and nothing says which one it is",
           "give it an id ([DERECHO] local_id, --id)");
  }
  if (contacts.text.empty() && bootstrap.text == "true") {
    report(problems, bootstrap.origin, "this node would found the group without a look whether there is one",
           "name in [SPINDRIFT] contacts where members of it may be, this node's own address at least");
  }
  if (!contacts.text.empty() && fabric.text != "tcp" && fabric.text != "shm+tcp") {
    report(problems, contacts.origin, fmt::format("contacts are asked over TCP, and the fabric is {}", fabric.text),
           "use shm+tcp or tcp, or remove [SPINDRIFT] contacts and name members");
  }
}

}  // namespace spindrift::config
