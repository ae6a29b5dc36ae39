// The first words of a node that knows nothing of its group but where some of its members may be.
#include <spindrift/group/contacts.hpp>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/fabric/tcp/discovery.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/group/roster_messages.hpp>
#include <spindrift/group/view_journal.hpp>

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

Contacts::Answers Contacts::ask(const Clock& clock) const {
  Answers answers;
  const auto note = [&](const std::string& who, const std::string& what) {
    answers.texts += (answers.texts.empty() ? "" : "; ") + who + ": " + what;
  };
  std::vector<SocketAddress> addresses;
  for (const std::string& contact : contacts_of(config_)) {
    const auto found = fabric::connected::resolve_all(contact);
    if (!found) note(contact, found.error().message());
    answers.in_no_group &= found.ok();
    if (found) addresses.insert(addresses.end(), found->begin(), found->end());
  }
  const auto rank = [&](const Roster& roster) { return std::pair(roster.admits(self_), roster.edition); };
  for (const auto& outcome : fabric::tcp::discover(addresses, {.credentials = credentials_}, clock)) {
    auto roster = outcome.answer ? decode_roster_outcome(*outcome.answer, config_.group_name())
                                 : Result<Roster>(outcome.answer.error());
    if (!roster) {
      const bool says_so = outcome.answer.ok() && roster.error().kind() == looks_for_group;
      answers.in_no_group &= says_so || outcome.nobody;
      note(outcome.from, explained(roster.error()));
    } else if (!answers.roster || rank(*roster) > rank(*answers.roster)) {
      answers.roster = std::move(roster).value();
    }
  }
  return answers;
}

namespace {

/// Says for whom this node waits, now and then.
class WaitingWords {
 public:
  explicit WaitingWords(Time limit) : limit_(limit) {}
  void say(const std::string& contacts, Time now) {
    constexpr Duration between = std::chrono::seconds(10);
    if (now < next_) return;
    next_ = now + between;
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(limit_ - now).count();
    log::warn(log::Room::group, "no contact is in the group yet; they are asked again",
              {{"contacts", contacts}, {"seconds left", left}});
  }

 private:
  Time limit_;
  Time next_{};
};

Error none_in_time(const Config& config, NodeId self, const std::string& contacts) {
  const bool bootstraps = config.boolean("SPINDRIFT", "bootstrap");
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(config.join_timeout()).count();
  std::string what = "node " + std::to_string(self.value()) + " waited " + std::to_string(waited) +
                     " ms for a contact that is in group " + config.group_name();
  if (bootstraps) what += ", or until each was known to be in none";
  return Error(ErrorKind::timed_out, what + ": " + contacts)
      .fix(bootstraps ? "see to these contacts, or name others: the group may run where they cannot be asked, and this node "
                        "would found a second one"
                      : "start a member, or name where one listens in [SPINDRIFT] contacts; the first node of a new group "
                        "begins it with [SPINDRIFT] bootstrap = true");
}

/// The roster of the last group that this node knows of, which may go on without it: as its record has it. Nothing: it
/// remembers none, or that one has ended; or another process of the node has the record, which is told of later.
std::optional<Roster> remembered(const Config& config, NodeId self) {
  const auto directory = value_or_throw(GuardedDirectory::open(config.runtime_directory(), config.group_name()));
  auto file = ViewFile::open(directory, self);
  if (!file && file.error().kind() == ErrorKind::refused) return std::nullopt;
  ViewFile opened = value_or_throw(std::move(file));
  const auto record = value_or_throw(last_record(journal_place(config), opened, self));
  if (!record) return std::nullopt;
  if (!record->accepted.empty()) return record->accepted.back().roster;
  if (!record->last || record->last->members.empty()) return std::nullopt;
  return record->last->roster;
}

/// Whether that is enough to look for the group, or to begin it, with this configuration as it is.
bool may_go_on(const Config& config, const Contacts::Answers& answers) {
  return config.boolean("SPINDRIFT", "bootstrap") ? answers.in_no_group : can_begin_group(config);
}

}  // namespace

// A node that remembers a group looks for that, and founds the next view of it with the others: it begins none alone.
Config as_contacts_say(const Config& config, const Clock& clock) {
  const Contacts contacts = value_or_throw(Contacts::open(config));
  const std::optional<Roster> before = remembered(config, contacts.self());
  const Time limit = clock.now() + config.join_timeout();
  WaitingWords words(limit);
  for (int refusals = 0;;) {
    const Contacts::Answers answers = contacts.ask(clock);
    if (answers.roster) {
      auto why = not_admitted(config, *answers.roster, contacts.self());
      if (!why) return as_node_of(config, *answers.roster, contacts.self());
      // A member may not have come to the view yet that another one let this node in with.
      if (++refusals == 2) throw Exception(std::move(*why));
      std::this_thread::sleep_for(between_rounds);
      continue;
    }
    if (before && before->admits(contacts.self())) {
      log::info(log::Room::group, "no contact is in the group: it is looked for at the nodes of the last view",
                {{"contacts", answers.texts}});
      return as_node_of(config, *before, contacts.self());
    }
    if (!before && may_go_on(config, answers)) {
      log::info(log::Room::group, "no contact is in the group: it is looked for as the configuration says",
                {{"contacts", answers.texts}});
      return config;
    }
    const Time now = clock.now();
    if (now + between_rounds >= limit) throw Exception(none_in_time(config, contacts.self(), answers.texts));
    words.say(answers.texts, now);
    std::this_thread::sleep_for(between_rounds);
  }
}

}  // namespace spindrift::group
