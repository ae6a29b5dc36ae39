// Nodes with meta tables, and others that look up in them, on a network in one thread.
#pragma once

#include "pool_fixture.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/directory.hpp>
#include <spindrift/kernel/meta_table.hpp>
#include <spindrift/kernel/meta_values.hpp>

namespace spindrift::kernel::sim {

struct HandClock final : Clock {
  [[nodiscard]] Time now() const noexcept override { return time; }
  Time time{};
};

/// A node that keeps a table.
struct Server {
  Server(SimNetwork& network, std::uint32_t number) : node(network, number) {
    const MetaGeometry geometry = value_or_throw(MetaGeometry::for_entries(100));
    region = {reinterpret_cast<std::byte*>(lines.data()), geometry.bytes()};
    keys = node.registered(region, fabric::Access::read);
    table.emplace(value_or_throw(MetaTable::format(region, geometry)));
  }
  void tell(std::uint32_t number, const Node& of, std::uint64_t incarnation = 1) {
    value_or_throw(table->put(meta_key_of(NodeId(number)), encode(NodeRecord{incarnation, of.device->metadata()})));
  }
  void tell_memory(std::uint32_t number, const Node& of) {
    const MemoryRecord record{
        NodeId(number), of.target_keys.remote_key, of.target_keys.remote_base, of.target.size(), 1, fabric::Access::write};
    value_or_throw(table->put(meta_key_of(NodeId(number), record.key), encode(record)));
  }
  MetaServer address(std::uint32_t number) const {
    return {NodeId(number), node.device->metadata(), table->geometry(), keys.remote_base, keys.remote_key};
  }

  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::vector<Line> lines = std::vector<Line>(400);
  std::span<std::byte> region;
  MemoryKeys keys;
  std::optional<MetaTable> table;
  Node node;
};

struct Client {
  Client(SimNetwork& network, std::uint32_t number, std::vector<MetaServer> servers, DirectoryOptions options = {})
      : directory(clock, options), node(network, number, {}, with(directory)) {
    value_or_throw(directory.open(*node.pool, std::move(servers)));
  }
  static PoolOptions with(Directory& directory) {
    PoolOptions options;
    options.remote = &directory;
    return options;
  }

  HandClock clock;
  Directory directory;
  Node node;
};

template <class... Nodes>
void drive(SimNetwork& network, Client& client, Nodes&... nodes) {
  do {
    settle(network, client.node, nodes...);
  } while (client.directory.progress());
}

inline std::optional<MetaSearch::State> answer_of(Client& client) {
  const auto answer = client.directory.take_answer();
  return answer ? std::optional(answer->state) : std::nullopt;
}

}  // namespace spindrift::kernel::sim
