// The cost of a connection that rdma-core makes: a reliable connected queue pair created, and taken to where it may send,
// with nobody asked over the network; beside a virtual queue pair, by turns. (KRCore, figures 3 and 8a.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// In nanoseconds, one per sample.
struct VerbsTimes {
  std::vector<std::uint64_t> create;   ///< ibv_create_qp
  std::vector<std::uint64_t> to_init;  ///< ibv_modify_qp, each
  std::vector<std::uint64_t> to_receive;
  std::vector<std::uint64_t> to_send;
  std::vector<std::uint64_t> all;              ///< those four
  std::vector<std::uint64_t> register_memory;  ///< ibv_reg_mr of `registered_bytes`
  std::vector<std::uint64_t> virtual_pair;     ///< a virtual queue pair made and connected, its peer known
};

/// Threading: one thread.
class VerbsConnect {
 public:
  static constexpr std::size_t registered_bytes = std::size_t{4} << 20U;

  /// On the first RDMA device with an active port; the virtual queue pairs on libfabric's `provider`, as in Reach. Errors:
  /// unsupported (no rdma-core, no device, or none that is up: with what to do), resource.
  [[nodiscard]] static std::unique_ptr<VerbsConnect> open(const std::string& provider);
  virtual ~VerbsConnect() = default;

  /// "rxe0, port 1".
  [[nodiscard]] virtual std::string device() const = 0;
  /// Each with a pair of queue pairs that are connected to each other, and over which a write went. Errors: resource,
  /// timed_out, member_lost (the write failed).
  [[nodiscard]] virtual VerbsTimes measure(std::uint32_t samples) = 0;
};

}  // namespace spindrift::bench
