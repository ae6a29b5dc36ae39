// A fabric on paper: what a member asks of it is written down, what it tells is given by the test.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <spindrift/fabric/fabric.hpp>

#include "../smc/null_fabric.hpp"

namespace spindrift::views {

class PaperFabric : public smc::NullFabric {
 public:
  struct Sent {
    fabric::PeerId to;
    std::vector<std::byte> bytes;
  };
  struct Exposed {
    fabric::PeerId to;
    fabric::RegionKey region;
    fabric::Access access;
  };

  [[nodiscard]] const fabric::Traits& traits() const noexcept override { return own_traits; }
  [[nodiscard]] Result<fabric::Region> allocate(std::size_t bytes, std::string_view) override {
    memory_.push_back(std::make_unique<std::vector<std::uint64_t>>(bytes / 8 + 1));
    const fabric::RegionKey key(next_key_++);
    allocated[key] = bytes;
    return fabric::Region{key, std::as_writable_bytes(std::span(*memory_.back())).first(bytes)};
  }
  void release(fabric::RegionKey region) override { allocated.erase(region); }
  [[nodiscard]] Result<void> connect(const fabric::Address& peer) override {
    asked.push_back(peer.node);
    return {};
  }
  void disconnect(fabric::PeerId peer) override { ended.push_back(peer); }
  [[nodiscard]] Result<void> expose(fabric::PeerId peer, fabric::RegionKey region, fabric::Access access) override {
    exposed.push_back({peer, region, access});
    return {};
  }
  [[nodiscard]] Result<std::span<const std::byte>> map(fabric::PeerId, fabric::RegionKey) override {
    return std::as_bytes(std::span(mapped_));
  }
  void unmap(fabric::PeerId, fabric::RegionKey region) override { unmapped.push_back(region); }
  [[nodiscard]] Result<void> post(std::span<const fabric::Operation> operations) override {
    for (const fabric::Operation& each : operations) {
      if (each.kind == fabric::Operation::Kind::send) sent.push_back({each.peer, {each.local, each.local + each.bytes}});
    }
    return {};
  }
  [[nodiscard]] std::size_t poll(std::span<fabric::Event> events) override {
    std::size_t count = 0;
    for (; count < events.size() && !to_tell.empty(); ++count) {
      events[count] = std::move(to_tell.front());
      to_tell.pop_front();
    }
    return count;
  }

  void connected(std::uint32_t peer, std::uint32_t node, bool mappable = false, std::array<std::uint64_t, 2> words = {}) {
    fabric::Event& event = tell(fabric::Event::Kind::connected, peer);
    event.words = words;
    event.mappable = mappable;
    event.node = NodeId(node);
  }
  void says(std::uint32_t peer, std::vector<std::byte> bytes) {
    tell(fabric::Event::Kind::message, peer).bytes = std::move(bytes);
  }
  void shows(std::uint32_t peer, std::uint64_t bytes, fabric::Access access = fabric::Access::write) {
    fabric::Event& event = tell(fabric::Event::Kind::exposed, peer);
    event.access = access;
    event.region_bytes = bytes;
  }
  void loses(std::uint32_t peer, bool dying = false) { tell(fabric::Event::Kind::lost, peer).dying = dying; }
  /// It cannot go on, for this reason.
  void stops(Error reason) { tell(fabric::Event::Kind::ended, 0).reason = std::move(reason); }

  fabric::Traits own_traits = [] {
    fabric::Traits traits;
    traits.message_bytes_max = 4096;
    return traits;
  }();
  std::deque<fabric::Event> to_tell;
  std::vector<NodeId> asked;           ///< for a connection
  std::vector<fabric::PeerId> ended;
  std::vector<Sent> sent;
  std::vector<Exposed> exposed;
  std::vector<fabric::RegionKey> unmapped;
  std::map<fabric::RegionKey, std::size_t> allocated;

 private:
  fabric::Event& tell(fabric::Event::Kind kind, std::uint32_t peer) {
    fabric::Event& event = to_tell.emplace_back();
    event.kind = kind;
    event.peer = fabric::PeerId(peer);
    return event;
  }

  std::vector<std::unique_ptr<std::vector<std::uint64_t>>> memory_;
  std::vector<std::uint64_t> mapped_ = std::vector<std::uint64_t>(1 << 16);  // zeros, for whatever is mapped
  std::uint64_t next_key_ = 1;
};

}  // namespace spindrift::views
