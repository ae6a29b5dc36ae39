// Nodes with a pool each, on a network in one thread.
#pragma once

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/kernel/pool.hpp>

#include "sim_device.hpp"

namespace spindrift::kernel::sim {

struct Node {
  Node(SimNetwork& network, std::uint32_t number, const SimOptions& sim = {}, PoolOptions options = {})
      : Node(network.add(sim), number, options) {}

  /// The same node's next start; `former` is dead from here on.
  Node(SimNetwork& network, const Node& former)
      : Node(network.start_again(*former.device), former.id, PoolOptions{.start = former.start + 1}) {}

  Node(std::unique_ptr<SimDevice> opened_device, std::uint32_t number, PoolOptions options)
      : id(number), start(options.start + 7), device(std::move(opened_device)), completions(64) {
    options.self = NodeId(id);
    options.start = start;
    auto opened = Pool::open(*device, options);
    if (!opened) FAIL(opened.error().to_string());
    pool = std::move(opened).value();
    memory.resize(1 << 14);
    keys = registered(memory, fabric::Access::read);
    target.resize(1 << 14);
    target_keys = registered(target, fabric::Access::write);
  }

  MemoryKeys registered(std::span<std::byte> bytes, fabric::Access access) {
    auto got = pool->register_memory(bytes, access);
    if (!got) FAIL(got.error().to_string());
    return *got;
  }

  PairId pair(const Node& peer, Port port = Port(1), Pool::PairOptions options = {}) {
    auto made = pool->create(completions, options);
    if (!made) FAIL(made.error().to_string());
    const auto connected = pool->connect(*made, peer.device->metadata(), port);
    if (!connected) FAIL(connected.error().to_string());
    return *made;
  }

  /// The bytes of `text` at `offset` of its memory.
  std::span<std::byte> put(const std::string& text, std::size_t offset = 0) {
    std::memcpy(memory.data() + offset, text.data(), text.size());
    return std::span(memory).subspan(offset, text.size());
  }
  Request send(std::span<std::byte> bytes, std::uint64_t context = 0) const {
    return {.kind = Request::Kind::send, .context = context, .local = bytes, .local_memory = keys};
  }
  Request one_sided(Request::Kind kind, const MemoryKeys& there, std::span<std::byte> bytes, std::size_t offset,
                    std::uint64_t context) const {
    Request request = send(bytes, context);
    request.kind = kind;
    request.remote_address = there.remote_base + offset;
    request.remote_key = there.remote_key;
    return request;
  }
  Request write(const Node& to, std::span<std::byte> bytes, std::size_t offset, std::uint64_t context = 0) const {
    return one_sided(Request::Kind::write, to.target_keys, bytes, offset, context);
  }
  Request read(const Node& from, std::span<std::byte> bytes, std::size_t offset, std::uint64_t context = 0) const {
    return one_sided(Request::Kind::read, from.keys, bytes, offset, context);
  }

  std::size_t post(PairId pair, std::vector<Request> requests) {
    auto posted = pool->post(pair, requests);
    if (!posted) FAIL(posted.error().to_string());
    return *posted;
  }
  ErrorKind refused(PairId pair, std::vector<Request> requests) {
    auto posted = pool->post(pair, requests);
    REQUIRE_FALSE(posted);
    return posted.error().kind();
  }
  bool progress() {
    auto progressed = pool->progress(now);
    if (!progressed) FAIL(progressed.error().to_string());
    return *progressed;
  }
  std::vector<Completion> take() {
    std::vector<Completion> taken(256);
    taken.resize(completions.take(taken));
    return taken;
  }
  std::string pop(Port port = Port(1), PairId* from = nullptr) {
    auto message = pool->pop_message(port);
    if (!message) FAIL(message.error().to_string());
    if (!*message) return "nothing";
    if (from != nullptr) *from = (*message)->from;
    return {reinterpret_cast<const char*>((*message)->bytes.data()), (*message)->bytes.size()};
  }
  /// The next message of that pair.
  std::string message(PairId pair) {
    const auto bytes = pool->take_message(pair);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "nothing";
  }
  std::string text(std::size_t offset, std::size_t bytes) const {
    return {reinterpret_cast<const char*>(target.data()) + offset, bytes};
  }

  const std::uint32_t id;
  const std::uint32_t start;
  Time now{};
  std::unique_ptr<SimDevice> device;
  CompletionQueue completions;
  std::vector<std::byte> memory;  ///< own requests' bytes; peers may read it
  std::vector<std::byte> target;  ///< peers may write it
  MemoryKeys keys;
  MemoryKeys target_keys;
  std::unique_ptr<Pool> pool;
};

/// Until nothing happens anywhere: what the last pass posted is seen by the next one.
template <class... Nodes>
void settle(SimNetwork& network, Nodes&... nodes) {
  for (int idle = 0; idle < 3; ++idle) {
    bool any = network.step();
    any = (static_cast<unsigned>(any) | ... | static_cast<unsigned>(nodes.progress())) != 0;
    if (any) idle = 0;
  }
}

}  // namespace spindrift::kernel::sim
