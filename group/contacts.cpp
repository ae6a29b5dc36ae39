// The first words of a node that knows nothing of its group but where some of its members may be.
#include <spindrift/group/contacts.hpp>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/fabric/tcp/discovery.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/group/roster_messages.hpp>

namespace spindrift::group {

using fabric::connected::SocketAddress;
using fabric::tls::Credentials;

namespace {

constexpr Duration between_rounds = std::chrono::milliseconds(500);

Error unnamed() {
  return Error(ErrorKind::bad_config, "nothing says which node of the group this process is")
      .fix("give it an id ([DERECHO] local_id, --id), or name the directory of its key in [SPINDRIFT] keys, without <id>");
}

/// The key tells the node where the configuration does not.
Result<NodeId> node_of_key(const Credentials& credentials) {
  if (const auto node = credentials.identity().node()) return *node;
  return Error(ErrorKind::bad_config, "the key is of no node of the group: " + credentials.identity().uri())
      .fix("name the directory of a member's key in [SPINDRIFT] keys: spindrift keys add GROUP --nodes ID makes one");
}

std::vector<NodeId> nodes_of(const Roster& roster) {
  std::vector<NodeId> nodes;
  for (const NodeAddress& each : roster.nodes) nodes.push_back(each.node);
  return nodes;
}

/// Why a process of that node cannot be in the group.
std::optional<Error> not_admitted(const Config& config, const Roster& roster, NodeId self) {
  const std::string node = std::to_string(self.value());
  if (roster.is_drained(self)) {
    return Error(ErrorKind::refused, "node " + node + " is drained: group " + config.group_name() + " does not let it in")
        .fix("spindrift group drain " + node + " --undo, at a member");
  }
  if (roster.contains(self)) return std::nullopt;
  return Error(ErrorKind::refused, "node " + node + " is not in the roster of group " + config.group_name() +
                                       ", which has " + listed(nodes_of(roster)))
      .fix("let it in first, at a member: spindrift group add " + node + "@HOST:PORT, with the address at which this node "
           "is to listen");
}

}  // namespace

Result<Contacts> Contacts::open(const Config& config) {
  if (!config.proves_members()) {
    if (!has_local_id(config)) return unnamed();
    return Contacts(config, config.local_id(), nullptr);
  }
  if (has_local_id(config)) {
    SPINDRIFT_TRY_ASSIGN(auto credentials,
                         Credentials::load(config.keys_directory(), config.group_name(), config.local_id()));
    return Contacts(config, config.local_id(), std::move(credentials));
  }
  if (config.text("SPINDRIFT", "keys").find("<id>") != std::string::npos) return unnamed();
  SPINDRIFT_TRY_ASSIGN(auto credentials, Credentials::load_observer(config.keys_directory(), config.group_name()));
  SPINDRIFT_TRY_ASSIGN(const NodeId self, node_of_key(*credentials));
  return Contacts(config, self, std::move(credentials));
}

// Anybody may listen there, and say what he likes.
std::string Contacts::explained(const Error& why) const {
  constexpr std::size_t most = 500;
  std::string text = why.to_string().substr(0, most);
  using namespace fabric::tcp;
  if (!text.starts_with(connection_ended) && !text.starts_with(connection_broke)) return text;
  return text + "; it may have another [SPINDRIFT] security: this node " +
         (credentials_ != nullptr ? "proves itself by keys" : "proves nothing");
}

std::optional<Roster> Contacts::ask(const Clock& clock) {
  answers_.clear();
  const auto note = [this](const std::string& who, const Error& why) {
    answers_ += (answers_.empty() ? "" : "; ") + who + ": " + explained(why);
  };
  std::vector<SocketAddress> addresses;
  for (const std::string& contact : contacts_of(config_)) {
    auto found = fabric::connected::resolve_all(contact);
    if (!found) note(contact, found.error());
    if (found) addresses.insert(addresses.end(), found->begin(), found->end());
  }
  std::optional<Roster> newest;
  for (auto& [from, answer] : fabric::tcp::discover(addresses, {.credentials = credentials_}, clock)) {
    auto roster = answer ? decode_roster_outcome(*answer) : Result<Roster>(answer.error());
    if (!roster) {
      note(from, roster.error());
    } else if (!newest || roster->edition > newest->edition) {
      newest = std::move(roster).value();
    }
  }
  return newest;
}

Config as_contacts_say(const Config& config, const Clock& clock) {
  Contacts contacts = value_or_throw(Contacts::open(config));
  const Time limit = clock.now() + config.join_timeout();
  for (bool told = false;; told = true) {
    if (const auto roster = contacts.ask(clock)) {
      if (auto why = not_admitted(config, *roster, contacts.self())) throw Exception(std::move(*why));
      return as_node_of(config, *roster, contacts.self());
    }
    if (can_begin_group(config)) {
      log::info(log::Room::group, "no contact is in a group: it is looked for as the configuration says",
                {{"contacts", contacts.answers()}});
      return config;
    }
    if (!told)
      log::warn(log::Room::group, "no contact is in a group yet; they are asked again", {{"contacts", contacts.answers()}});
    if (clock.now() + between_rounds >= limit) break;
    std::this_thread::sleep_for(between_rounds);
  }
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(config.join_timeout()).count();
  throw Exception(
      Error(ErrorKind::timed_out, "node " + std::to_string(contacts.self().value()) + " waited " + std::to_string(waited) +
                                      " ms for a contact that is in group " + config.group_name() + ": " +
                                      contacts.answers())
          .fix("start a member, or name where one listens in [SPINDRIFT] contacts; the first node of a new group begins "
               "it with [SPINDRIFT] bootstrap = true"));
}

}  // namespace spindrift::group
