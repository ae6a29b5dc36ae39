// The nodes that keep tables, the changes that a link makes to them, and the log's lines on it.
#include <spindrift/kernel/provider/finder.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/kernel/provider/arena.hpp>
#include <spindrift/kernel/meta_servers.hpp>

namespace spindrift::kernel::vq {
namespace {

constexpr std::size_t servers_max = 3;

/// Hosts by the place of the first node on them. All nodes that have the same addresses number them alike.
std::vector<MetaMember> members_of(std::span<const fabric::Address> roster) {
  std::vector<MetaMember> members;
  for (const fabric::Address& each : roster) {
    const auto first = std::find_if(roster.begin(), roster.end(), [&](const fabric::Address& other) {
      return config::same_host(each.endpoint, other.endpoint).value_or(false);
    });
    members.push_back({each.node, static_cast<std::uint64_t>(first - roster.begin())});
  }
  return members;
}

std::vector<NodeId> order_of(NodeId self, std::span<const fabric::Address> roster) {
  const std::vector<MetaMember> members = members_of(roster);
  const auto own = std::find_if(members.begin(), members.end(), [&](const MetaMember& each) { return each.node == self; });
  std::vector<MetaMember> servers = meta_servers_of(members, servers_max);
  std::erase_if(servers, [&](const MetaMember& server) { return server.node == self; });
  return lookup_order(servers, own == members.end() ? MetaMember{self, members.size()} : *own);
}

std::set<NodeId> others_of(NodeId self, std::span<const fabric::Address> roster) {
  std::set<NodeId> others;
  for (const fabric::Address& each : roster) {
    if (each.node != self) others.insert(each.node);
  }
  return others;
}

}  // namespace

std::vector<std::byte> encode(const Introduction& introduction) {
  return ByteWriter().put(encode(introduction.table)).put_bytes(introduction.metadata.said()).take();
}

std::optional<Introduction> decode_introduction(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < MetaTableName::wire_bytes) return std::nullopt;
  const auto table = decode_table_name(bytes);
  const std::span<const std::byte> rest = bytes.subspan(MetaTableName::wire_bytes);
  if (!table || rest.empty() || rest.size() > Metadata::bytes_max) return std::nullopt;
  return Introduction{*table, Metadata::of(rest)};
}

Finder::Finder(const VqOptions& options, Plausible plausible, const Clock& clock)
    : self_(options.self),
      clock_(clock),
      servers_(vq_meta_servers(options.roster)),
      others_(others_of(self_, options.roster)),
      plausible_(std::move(plausible)),
      directory_(clock,
                 {.answer_max = options.lookup_max, .order = order_of(self_, options.roster), .plausible = plausible_}),
      routes_(directory_, order_of(self_, options.roster), others_, options.meet_max) {}

// A node that keeps a table for all has everybody in it; any other has itself alone.
std::set<NodeId> Finder::kept_here() const {
  const bool for_all = std::find(servers_.begin(), servers_.end(), self_) != servers_.end();
  return for_all ? others_ : std::set<NodeId>();
}

Result<std::size_t> Finder::table_bytes() const {
  SPINDRIFT_TRY_ASSIGN(const auto geometry, MetaKeeper::geometry_for(kept_here().size()));
  return (geometry.bytes() + RegionArena::page_bytes - 1) / RegionArena::page_bytes * RegionArena::page_bytes;
}

Result<void> Finder::open(Pool& pool, std::span<std::byte> memory, const NodeRecord& own) {
  SPINDRIFT_TRY_ASSIGN(const auto geometry, MetaKeeper::geometry_for(kept_here().size()));
  SPINDRIFT_TRY_ASSIGN(keeper_, MetaKeeper::open(memory, geometry, self_, own, kept_here()));
  routes_.begin(clock_.now());
  return directory_.open(pool, {});
}

Route Finder::route_to(NodeId node) {
  const Route route = routes_.route_to(node, clock_.now());
  if (route.way == Route::Way::by_address && std::exchange(last_reason_[node], route.reason) != route.reason)
    log::info(log::Room::fabric, "called at its address", {{"node", node}, {"reason", route.reason}});
  return route;
}

void Finder::on_linked(const Acquaintance& peer) {
  const NodeId node = peer.node;
  routes_.on_linked(node);
  last_reason_.erase(node);
  switch (peer.way) {
    case Route::Way::wait: counters_.called_by.add(1); break;
    case Route::Way::cached: counters_.cached.add(1); break;
    case Route::Way::looked_up: counters_.looked_up.add(1); break;
    case Route::Way::by_address: counters_.by_address.add(1); break;
  }
  if (std::find(servers_.begin(), servers_.end(), node) != servers_.end()) {
    directory_.admit({node, peer.reached_by, peer.table.geometry, peer.table.address, peer.table.key});
    admitted_[node] = peer.record.incarnation;
  }
  if (!plausible_(node, peer.record.metadata)) {
    return tell_unfit(node, "what it says of its device is not of its address here");
  }
  directory_.learn(node, peer.record);
  if (auto kept = keeper_->on_linked(node, peer.record); !kept) tell_unfit(node, kept.error().to_string());
  counters_.table_nodes.set(keeper_->size());
}

void Finder::tell_unfit(NodeId node, const std::string& why) {
  if (const std::uint64_t times = refused_.due(node, why, clock_.now()); times > 0)
    log::warn(log::Room::fabric, "not in the meta table", {{"node", node}, {"reason", why}, {"times", times}});
}

void Finder::on_unlinked(NodeId node, std::uint64_t incarnation) {
  directory_.on_lost(node);
  keeper_->on_lost(node, incarnation);
  counters_.table_nodes.set(keeper_->size());
  const auto server = admitted_.find(node);
  if (server == admitted_.end() || server->second != incarnation) return;
  admitted_.erase(server);
  directory_.dismiss(node);
}

void Finder::on_call_failed(NodeId node, bool stale) {
  routes_.on_misled(node);
  if (stale) counters_.stale.add(1);
}

std::vector<NodeId> Finder::progress() {
  static_cast<void>(directory_.progress());
  for (auto fault = directory_.take_fault(); fault; fault = directory_.take_fault()) {
    counters_.faults.add(1);
    if (const std::uint64_t times = refused_.due(fault->server, fault->what, clock_.now()); times > 0)
      log::warn(log::Room::fabric, "a meta server is asked no more",
                {{"node", fault->server}, {"reason", fault->what}, {"about", fault->about}, {"times", times}});
  }
  counters_.reads.set(directory_.reads());
  counters_.silent.set(directory_.silences());
  return routes_.take_ready(clock_.now());
}

void Finder::count_in(CounterBlock* block) {
  const auto counter = [block](const char* name) { return block == nullptr ? Counter() : block->counter(name); };
  counters_ = {counter("vq.links_cached"),    counter("vq.links_looked_up"), counter("vq.links_by_address"),
               counter("vq.links_called_by"), counter("vq.meta_reads"),      counter("vq.meta_faults"),
               counter("vq.meta_stale"),      counter("vq.meta_silences"),   counter("vq.meta_table_nodes")};
  counters_.table_nodes.set(keeper_ ? keeper_->size() : 0);
}

}  // namespace spindrift::kernel::vq

namespace spindrift::kernel {

std::vector<NodeId> vq_meta_servers(std::span<const fabric::Address> roster) {
  std::vector<NodeId> servers;
  for (const MetaMember& server : meta_servers_of(vq::members_of(roster), vq::servers_max)) servers.push_back(server.node);
  return servers;
}

}  // namespace spindrift::kernel
