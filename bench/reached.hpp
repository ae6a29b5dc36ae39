// The peers that `bench connect` reaches, on loopback: some whose memory is open to whoever has the keys, and one that keeps
// a meta table of nodes that need not be there. They do nothing but poll.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/directory.hpp>
#include <spindrift/kernel/meta_table.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::bench {

/// A device that peers of this host reach, with connected queue pairs too. `provider`: of connectionless queue pairs, as in
/// OfiDeviceOptions. Errors: those of `make_ofi_device`.
[[nodiscard]] std::unique_ptr<kernel::PhysicalDevice> open_loopback_device(const std::string& provider,
                                                                           const kernel::DeviceSizes& sizes);

/// The metadata of a node that is like the one of `real`, metadata of such a device, but at another address: its own
/// for each `number` below 2^22. What every device of that provider takes in, and nobody answers to.
[[nodiscard]] kernel::Metadata elsewhere(const kernel::Metadata& real, std::uint32_t number);

/// Threading: started, then polled by one thread.
struct ReachedPeer {
  std::unique_ptr<kernel::PhysicalDevice> device;
  std::unique_ptr<kernel::PhysicalQueuePair> open;
  std::vector<std::unique_ptr<kernel::PhysicalQueuePair>> accepted;
  alignas(8) std::array<std::byte, 8> writable{};
  alignas(8) std::array<std::byte, 8> readable{};
  kernel::MemoryKeys write_keys;
  kernel::MemoryKeys read_keys;
  kernel::Metadata metadata;

  /// Errors: those of the device.
  void start(const std::string& provider, const kernel::DeviceSizes& sizes);
  void poll();
};

/// A meta server. Threading: as ReachedPeer.
class TableKeeper {
 public:
  /// Its table has nodes 1 … `nodes`, each `elsewhere`, and room for the memory of so many of them as `tell` is to tell of.
  /// Errors: those of the device; bad_argument (no nodes).
  void start(const std::string& provider, std::uint32_t nodes, std::uint32_t told_max = 0);
  /// From here on the node is the peer, and may be written to. Errors: resource.
  void tell(NodeId node, const ReachedPeer& peer);
  /// The same of any device, of which peers may write to `bytes` of memory.
  void tell(NodeId node, const kernel::Metadata& metadata, const kernel::MemoryKeys& memory, std::size_t bytes);
  /// Its readers need this.
  [[nodiscard]] const kernel::MetaServer& server() const noexcept { return server_; }
  void poll();

 private:
  struct alignas(cache_line_bytes) TableLine {
    std::array<std::byte, cache_line_bytes> bytes{};
  };
  std::vector<TableLine> lines_;  // outlives its registration
  std::unique_ptr<kernel::PhysicalDevice> device_;
  std::unique_ptr<kernel::PhysicalQueuePair> open_;
  std::optional<kernel::MetaTable> table_;
  kernel::MetaServer server_;
};

}  // namespace spindrift::bench
