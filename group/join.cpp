// How a GroupCore comes to be: from the configuration to a member in its first view.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/group/created_subgroups.hpp>
#include <spindrift/group/called_names.hpp>
#include <spindrift/group/contacts.hpp>
#include <spindrift/group/covered_memory.hpp>
#include <spindrift/group/differing_nodes.hpp>
#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/group_core.hpp>
#include <spindrift/group/group_fabric.hpp>
#include <spindrift/group/layout_digest.hpp>
#include <spindrift/group/steady_layout.hpp>
#include <spindrift/group/upcall_reports.hpp>
#include <spindrift/group/view_journal.hpp>
#include <spindrift/views/parts.hpp>

namespace spindrift {
namespace {

constexpr std::size_t counters_per_process = 32;

/// Grows from start to start of a node while its clock does not go back, or its record is kept, and differs in any case.
/// `memory` null: there is none.
std::uint64_t new_incarnation(views::ViewMemory* memory, NodeId node) {
  constexpr std::uint64_t drawn = 0xffff;  // of nanoseconds: a start takes longer
  const auto known = memory == nullptr ? std::optional<views::ViewRecord>() : value_or_throw(memory->load());
  const std::uint64_t least = known ? views::next_incarnation(*known, node) + drawn : 0;
  return (std::max(group::wall_clock_ns(), least) & ~drawn) | (std::random_device()() & drawn) | 1;
}

std::string joined(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value());
  return text;
}

/// Why one of these nodes cannot be called: its host's name has no address. A name server may be asked.
std::optional<Error> nameless(const Config& config, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    const auto address = group::called_name(config, node);
    if (!address) continue;
    if (const auto resolved = fabric::connected::resolve(*address, false); !resolved) return resolved.error();
  }
  return std::nullopt;
}

/// Names what this node and those that it has not met must have alike.
std::string meeting_place(const Config& config, const std::vector<NodeId>& missing) {
  const auto fabric = fabric::FabricName::parse(config.fabric());
  CHECK(fabric.ok());  // it was opened
  if (fabric->shm && !fabric->mixed()) return "runtime_directory";
  std::vector<NodeId> neighbors;
  std::copy_if(missing.begin(), missing.end(), std::back_inserter(neighbors),
               [&](NodeId node) { return fabric->maps(config.address_of(config.local_id()), config.address_of(node)); });
  if (neighbors.empty()) return "addresses, which they can reach";
  return "addresses, and node " + joined(neighbors) + ", on this node's host as addresses say, with runtime_directory " +
         config.runtime_directory();
}

std::string waited_for(const std::string& node, std::chrono::milliseconds waited, const std::string& what) {
  return node + " waited " + std::to_string(waited.count()) + " ms for " + what;
}

/// Those that have turned this node away, for by their lists its certificate is revoked. `credentials` null: nobody proves
/// anything.
std::vector<NodeId> say_revoked(const fabric::tls::Credentials* credentials, const std::vector<NodeId>& nodes) {
  if (credentials == nullptr) return {};
  const std::set<NodeId> known = credentials->who_say_revoked();
  std::vector<NodeId> found;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(found), [&](NodeId node) { return known.contains(node); });
  return found;
}

/// The error that says which of these nodes do not take this one's proof, or this one theirs. Nothing: none is known to.
std::optional<Error> unproved(const fabric::tls::Credentials* credentials, const std::string& what,
                              const std::vector<NodeId>& nodes) {
  std::vector<NodeId> refused;
  std::optional<Error> cause;
  for (const NodeId node : nodes) {
    auto why = credentials == nullptr ? std::nullopt : credentials->refusal_of(node);
    if (!why) continue;
    refused.push_back(node);
    if (!cause) cause = std::move(*why);
  }
  if (!cause) return std::nullopt;
  const ErrorKind kind = refused.size() == nodes.size() ? ErrorKind::refused : ErrorKind::timed_out;
  return Error(kind, what + ": it and node " + joined(refused) + " do not let each other in").because(std::move(*cause));
}

/// Why these members have not taken this node in, although it has a connection with every node of the group. A group takes
/// in a second process of a node when the first gives no sign of life.
Error not_taken_in(const std::string& self, const std::string& what, const std::vector<NodeId>& members) {
  return Error(ErrorKind::refused, what + ": it has a connection with every node of the group, which does not take it in: "
                                       "node " + joined(members) + " is in a view, and has lost its majority, or another "
                                       "process is " + self + " already and lives")
      .fix("see there, by spindrift group status and spindrift group why. If a majority is lost: spindrift group revive; if "
           "there is another process, which may run on another host or with another runtime_directory: end it, or give this "
           "one another id ([DERECHO] local_id, --id)");
}

/// That this process may open too few files: a fabric keeps some for its member's files, and takes no more peers then. So it
/// has no connection with all members, whatever else it looks like. Nothing: it may open enough.
std::optional<Error> few_descriptors(const std::string& what) {
  constexpr std::size_t few = 20;
  const auto free = descriptors_free();
  if (!free || *free >= few) return std::nullopt;
  return Error(ErrorKind::resource, what + ": it may open only " + std::to_string(*free) +
                                        " more files (ulimit -n), too few for a connection with each member")
      .fix(out_of_descriptors().fix());
}

/// Why no view came in time. `members`: of the group that is there. `missing`: the nodes without a connection.
Error late(const Config& config, std::chrono::milliseconds waited, const std::vector<NodeId>& members,
           const std::vector<NodeId>& missing) {
  const std::string self = "node " + std::to_string(config.local_id().value());
  const bool sees_group = !members.empty();
  if (auto few = few_descriptors(waited_for(self, waited, "a view"))) return *std::move(few);
  if (sees_group && missing.empty()) return not_taken_in(self, waited_for(self, waited, "a view"), members);
  const std::string what = waited_for(self, waited, sees_group || missing.empty() ? "a view" : "node " + joined(missing));
  if (const std::optional<Error> unresolved = nameless(config, missing))
    return Error(ErrorKind::timed_out, what).because(*unresolved).fix(unresolved->fix());
  if (sees_group) {
    return Error(ErrorKind::timed_out, what + ": it sees the group, of which node " + joined(members) +
                                           " is in a view and has not taken it in, and has no connection with node " +
                                           joined(missing))
        .fix("see there, by spindrift group status and spindrift group why, whether the group has lost its majority: it "
             "takes in nobody until spindrift group revive. Otherwise it takes in who has a connection with all of its "
             "members: see that those of them that run and this node have the same [SPINDRIFT] " +
             meeting_place(config, missing) + ", and that no other process is " + self);
  }
  if (founded_by_present(config)) {
    return Error(ErrorKind::timed_out, what + (missing.empty() ? "" : ", of which a process runs here and does not answer"))
        .fix("let it go on if it is stopped (kill -CONT), or end it; [SPINDRIFT] join_timeout_ms says how long to wait");
  }
  if (missing.empty()) {
    return Error(ErrorKind::timed_out, what)
        .fix("raise [SPINDRIFT] join_timeout_ms: it misses no other node, and this machine, or its disk, was not as fast");
  }
  return Error(ErrorKind::timed_out, what)
      .fix("start the missing nodes with the same configuration and [SPINDRIFT] " + meeting_place(config, missing) +
           ", or raise join_timeout_ms");
}

std::vector<NodeId> nodes_of(const std::vector<views::Apart>& apart) {
  std::vector<NodeId> nodes;
  for (const views::Apart& each : apart) nodes.push_back(each.node);
  return nodes;
}

/// That no view came, and who was there and could be in none with this process.
Error set_apart(const std::string& what, const std::vector<views::Apart>& apart) {
  return Error(ErrorKind::refused, what + ": node " + joined(nodes_of(apart)) +
                                       " was there, and could not be in one with it: " + apart.front().reason)
      .fix(views::how_to_compare());
}

/// `differing` empty: nothing is known of it.
Error with_differences(const Error& error, const std::string& differing) {
  if (differing.empty()) return error;
  std::string fix = error.fix();
  return Error(error.kind(), error.message() + ": " + differing).at(error.place()).fix(std::move(fix));
}

/// A program's own layout may not know what the configuration says of rows.
LayoutFunction with_split_rows(LayoutFunction layout) {
  return [layout = std::move(layout)](const std::vector<NodeId>& members, const View* previous) {
    std::vector<SubgroupView> subgroups = layout(members, previous);
    for (SubgroupView& subgroup : subgroups) subgroup.profile.split_rows = true;
    return subgroups;
  };
}

/// Refuses of a program's layout what the reader of a configuration (core/config/layout.cpp) refuses of its own.
Result<void> check_logged(const std::vector<SubgroupView>& subgroups) {
  const auto is_logged = [](const SubgroupView& each) { return each.storage == SubgroupStorage::logged; };
  for (const SubgroupView& each : subgroups) {
    if (!is_logged(each) || each.mode == DeliveryMode::ordered) continue;
    return Error(ErrorKind::bad_argument, "the program's layout: subgroup " + each.name +
                                              " is logged, and unordered: its members have no order in common to keep")
        .at("GroupOptions::layout")
        .fix("let it be ordered, or let its storage be memory");
  }
  if (std::ranges::count_if(subgroups, is_logged) <= std::ptrdiff_t{logged_subgroup_count_max}) return {};
  return Error(ErrorKind::bad_argument, "the program's layout has more than " +
                                            std::to_string(logged_subgroup_count_max) + " subgroups that are logged")
      .at("GroupOptions::layout")
      .fix("let fewer be logged, or have fewer shards");
}

/// Whether members can tell each other of the subgroups of a program's own layout; a configuration has no others.
Result<void> check_layout(const std::vector<SubgroupView>& subgroups) {
  for (const SubgroupView& each : subgroups) {
    if (!valid_layout_name(each.name)) {
      return Error(ErrorKind::bad_argument, "the program's layout has a subgroup that cannot be named to others")
          .fix("give it a name of 1 to " + std::to_string(layout_name_bytes_max) + " printable characters");
    }
    SPINDRIFT_TRY(check_ring(each.name, each.profile));
    if (auto fault = fault_of(each.history, each.mode, each.storage, each.profile.message_bytes_max)) {
      return Error(ErrorKind::bad_argument, "the program's layout: subgroup " + each.name + ": " + fault->what)
          .at("GroupOptions::layout")
          .fix(std::move(fault->fix));
    }
  }
  return check_logged(subgroups);
}

/// The thread that does them begins when all of these are there.
group::UpcallHeartbeats::Duties upcall_duties(const std::unique_ptr<views::Member>& member, const group::Channels& channels,
                                              std::optional<group::StatusKeeper>& status) {
  using group::UpcallHeartbeats;
  return {[&member](const UpcallHeartbeats::Whose& whose) { member->show_life(whose.subgroup); },
          [&channels, &status](const UpcallHeartbeats::Whose& whose, Duration lasted) {
            group::report_upcall(whose, lasted, channels, *status);
          },
          [&channels, &status](const UpcallHeartbeats::Stuck& stuck) {
            group::report_given_up(stuck, channels, *status);
          }};
}

/// Throws bad_argument: a subgroup is logged, and there is no record of views beside which it could be.
void open_memory(group::Environment& environment, const Config& config, const GuardedDirectory& directory,
                 const LayoutFunction& layout) {
  const std::vector<SubgroupView> subgroups = layout(value_or_throw(config.view()).members, nullptr);
  const auto logged = std::ranges::find(subgroups, SubgroupStorage::logged, &SubgroupView::storage);
  if (founded_by_present(config)) {
    if (logged == subgroups.end()) return;
    const std::string what = "subgroup " + logged->name + " is logged, and no founders are named";
    throw Exception(Error(ErrorKind::bad_argument, what + ": only these know after a stop what was there before")
                        .fix("name the nodes that found the group: [SPINDRIFT] founders"));
  }
  const auto wake = [&fabric = *environment.fabric] { fabric.wake(); };
  group::NodeMemory memory = value_or_throw(group::open_node_memory(config, directory, subgroups, wake));
  environment.memory = std::move(memory.record);
  environment.journal = std::move(memory.journal);
  if (!environment.journal) return;
  environment.logged = std::make_unique<group::LoggedSubgroups>(*environment.journal, subgroups, wake);
}

group::MemberStatus first_status(const Config& config, const GuardedDirectory& directory, std::uint64_t incarnation) {
  group::MemberStatus status;
  status.group = config.group_name();
  status.node = config.local_id();
  status.beginning.agreed = agreed_values(config);
  if (const auto place = group::journal_place(config)) status.beginning.journal = place->of(status.node);
  status.incarnation = incarnation;
  status.process = static_cast<std::uint64_t>(::getpid());
  status.beginning.ticks = group::process_start_ticks(status.process);
  status.beginning.at_ms = group::wall_clock_ms();
  status.partition_safety = !config.partitioning_safety_disabled();
  status.state = to_string(views::MemberState::looking);
  if (::mkdirat(directory.descriptor(), std::string(status_directory).c_str(), 0700) != 0 && errno != EEXIST) {
    throw Exception(system_error("mkdir", errno).at(directory.path() + "/" + std::string(status_directory)));
  }
  status.beginning.before = group::predecessor_at(directory.through(status_file_name(config.local_id())));
  return status;
}

}  // namespace

GroupCore::GroupCore(OwnConfig config, GroupOptions options)
    : config_(std::move(config)),
      options_(std::move(options)),
      environment_(config_->local_id(),
                   std::make_shared<AuditTrail>(config_->group_name(), config_->local_id(), config_->audit_file())) {}

void GroupCore::join(const group::Probe& probe) {
  value_or_throw(config_->begin_logging());
  directory_.emplace(value_or_throw(GuardedDirectory::open(config_->runtime_directory(), config_->group_name())));
  value_or_throw(config_->local_rank());
  const std::string self_name = "node " + std::to_string(config_->local_id().value());
  attached_.tell_askers(config_->group_name(), Error(group::looks_for_group, self_name + " looks for the group itself"));
  const Time limit = environment_.clock.now() + config_->join_timeout();
  value_or_throw(group::await_own_name(*config_, config_->join_timeout(), environment_.clock, [this] {
    if (options_.on_waiting) options_.on_waiting({config_->local_id()});
  }));
  auto opened = value_or_throw(
      group::open_group_fabric(*config_, environment_.audit, attached_.discovery, probe.watch_fabric));
  environment_.fabric = std::move(opened.fabric);
  open_memory(environment_, *config_, *directory_,
              options_.layout ? options_.layout : value_or_throw(config_->layout_function()));
  make_member(probe);
  value_or_throw(observers_->start_elsewhere(*config_, opened.credentials, environment_.audit));
  attached_.clients.emplace(group::ClientService::Member{*config_, environment_.state, channels_, attached_.replicas});
  value_or_throw(attached_.clients->start(self(), opened.credentials, environment_.audit));
  value_or_throw(heartbeats_->start());
  // A process that waits for a majority can be told to found without one.
  attached_.roster_service.emplace(self(), *directory_, [this](const group::RosterCall& call) {
    return change_roster(call, call.patience);
  });
  value_or_throw(attached_.roster_service->start());
  poller_ = value_or_throw(start_thread([this] { poll(); }));
  await_view(opened.credentials.get(), limit);
}

views::MemberOptions GroupCore::member_options(const View& everybody, const group::Probe& probe) const {
  views::MemberOptions options;
  for (const NodeId node : everybody.members) options.roster.nodes.push_back({node, config_->address_of(node)});
  if (!everybody.roster.nodes.empty()) options.told = everybody.roster;
  options.self = config_->local_id();
  options.founders = config_->founders();
  if (founded_by_present(*config_)) options.founded_by = views::FoundedBy::present;
  options.memory = environment_.memory.get();
  if (environment_.logged) options.logs = &environment_.logged->logs();
  options.incarnation = new_incarnation(options.memory, options.self);
  options.layout = options_.layout ? group::steady(options_.layout, everybody.members)
                                   : value_or_throw(config_->layout_function());
  const std::vector<NodeId>& tried_with = options.founders.empty() ? everybody.members : options.founders;
  const ConfigDigest digest = options_.layout ? group::digest_with_layout(*config_, options.layout, tried_with)
                                              : config_->digest();
  options.identity = {config_->group_name(), digest.words, views::spoken_versions()};
  if (config_->boolean("SPINDRIFT", "split_rows")) options.layout = with_split_rows(std::move(options.layout));
  options.multicasting = {probe.policy, probe.stepper};
  options.suspect_after = config_->suspect_after();
  if (config_->partitioning_safety_disabled()) options.terms.rule = views::Mandate::Rule::all_left;
  if (config_->text("SPINDRIFT", "majority_lost") == "wait") options.terms.on_loss = views::Mandate::OnLoss::wait;
  if (config_->text("SPINDRIFT", "lagging_member") == "remove")
    options.lagging_after = std::chrono::milliseconds(config_->integer("SPINDRIFT", "lagging_after_ms"));
  options.table_bytes = everybody.table_bytes;
  options.backlog_bytes_max = config_->state_buffer_bytes();
  return options;
}

// The subgroups are those of the layout that is used, which may be the program's own.
void GroupCore::open_counters(const std::vector<NodeId>& nodes, const std::vector<SubgroupView>& subgroups) {
  std::vector<std::string> names;
  for (const SubgroupView& subgroup : subgroups) names.push_back(subgroup.name);
  const std::size_t of_subgroups = smc::Multicast::counters_max + 1 + group::Histories::counters_each;
  const std::size_t most = names.size() * of_subgroups + nodes.size() + counters_per_process +
                           group::LagGauges::counters(names.size(), nodes.size());
  const std::size_t of_each = smc::Multicast::counters_max + 2 + group::LagGauges::counters(1, nodes.size());
  auto counters = CounterBlock::in_file(directory_->through(node_file_name(config_->local_id(), counters_suffix)), most,
                                        most + group::counted_created_max * of_each);
  if (!counters) throw Exception(std::move(counters).error().at(directory_->path()));
  CounterBlock block = std::move(counters).value();
  const Counter sleeps = block.counter("poller.sleeps"), views = block.counter("views.installed");
  const Counter slow_upcalls = block.counter("poller.slow_upcalls");
  const Counter stranded_since_ms = block.counter("member.stranded_since_ms");
  const Counter disk_full_since_ms = block.counter("journal.full_since_ms");
  counters_.emplace(group::OwnCounters{std::move(block), sleeps, views, stranded_since_ms, disk_full_since_ms});
  reports_.emplace(group::Reports{{environment_.clock, slow_upcalls},
                                  {},
                                  group::ConclusionWatch(group::handler_stuck_after(*config_)),
                                  {},
                                  group::SendWaits(counters_->block, names, nodes),
                                  group::LagGauges(counters_->block, names, nodes),
                                  group::SizesReport(ring_sizes_of(subgroups))});
  environment_.histories = group::Histories::of(subgroups, environment_.clock, counters_->block);
  environment_.fabric->count_in(&counters_->block);
}

void GroupCore::make_member(const group::Probe& probe) {
  const View everybody = value_or_throw(config_->view());
  heartbeats_.emplace(config_->suspect_after(), group::handler_stuck_after(*config_),
                      upcall_duties(member_, channels_, status_), environment_.clock);
  if (environment_.memory)
    environment_.memory = std::make_unique<group::CoveredMemory>(std::move(environment_.memory), *heartbeats_);
  views::MemberOptions options = member_options(everybody, probe);
  if (options.terms.rule == views::Mandate::Rule::all_left) {
    log::warn(log::Room::group, "partition safety is off: parts of a split group will go on and differ",
              {{"because", "[DERECHO] disable_partitioning_safety"}});
  }
  const std::vector<SubgroupView> subgroups = options.layout(everybody.members, nullptr);
  value_or_throw(check_layout(subgroups));
  open_counters(everybody.members, subgroups);
  status_.emplace(directory_->through(status_file_name(config_->local_id())),
                  first_status(*config_, *directory_, options.incarnation),
                  counters_->block.counter("status.unwritten_since_ms"));

  member_ = std::make_unique<views::Member>(std::move(options), *environment_.fabric, *this, counters_->block);
  attached_.tables.begin(self(), everybody.table_bytes);
  private_post_.begin(*member_, views::payload_bytes_max(*environment_.fabric));
  View before_the_first;
  before_the_first.subgroups = member_->shapes();
  for (std::uint32_t i = 0; i < before_the_first.subgroups.size(); ++i) {
    const SubgroupId id(i);
    channels_.add(environment_, member_->gate(id), id, before_the_first.subgroups[i]);
  }
  environment_.state.on_view(before_the_first);
  observers_.emplace(self(), *directory_, before_the_first.subgroups,
                     static_cast<std::uint64_t>(config_->integer("SPINDRIFT", "observer_bytes_per_s")),
                     [this] { return environment_.state.view(); });
  value_or_throw(observers_->start());
  value_or_throw(member_->start());
}

void GroupCore::await_view(const fabric::tls::Credentials* credentials, Time limit) {
  const auto differing_from = [this](const std::vector<NodeId>& nodes) {
    return group::differing_nodes(*directory_, agreed_values(*config_), nodes);
  };
  try {
    if (environment_.state.await_first_view(limit - environment_.clock.now())) return status_->await_file();
  } catch (const Exception& failure) {
    end_poller();
    if (failure.error().kind() != ErrorKind::refused) throw;
    throw Exception(with_differences(failure.error(), differing_from(value_or_throw(config_->view()).members)));
  }
  // A process that can open nothing has turned away the nodes that called: they are not missing.
  const bool starved = !descriptors_left();
  end_poller();  // before its member is asked
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(config_->join_timeout());
  const auto [members, missing, apart, memory] = member_->awaited();
  Error why = starved ? Error(ErrorKind::resource, waited_for(environment_.state.own_name(), waited, "a view"))
                            .because(out_of_descriptors())
                      : late(*config_, waited, members, missing);
  if (!starved && !apart.empty()) {
    const std::string what = waited_for(environment_.state.own_name(), waited, "a view");
    why = with_differences(set_apart(what, apart), differing_from(nodes_of(apart)));
  }
  if (!starved && apart.empty() && !memory.empty()) {
    why = Error(ErrorKind::timed_out, waited_for(environment_.state.own_name(), waited, "a view") + ": " + memory)
              .fix("start those nodes; or, if they do not come back, start this one again, and see what spindrift group "
                   "found does while it waits");
  }
  if (auto apart_by_keys = unproved(credentials, waited_for(environment_.state.own_name(), waited, "a view"), missing);
      apart_by_keys && !starved && apart.empty()) {
    why = std::move(*apart_by_keys);
  }
  if (const auto witnesses = say_revoked(credentials, missing); !starved && !witnesses.empty()) {
    why = Error(ErrorKind::refused, waited_for(environment_.state.own_name(), waited, "a view"))
              .because(fabric::tls::own_certificate_revoked("the list of node " + joined(witnesses)));
  }
  status_->on_failure(why);  // no poller does it any more
  attached_.revivals.on_end(why);
  throw Exception(std::move(why));
}

}  // namespace spindrift
