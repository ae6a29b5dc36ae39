// Shared memory as a sealed memfd. Nobody maps foreign memory before the kernel has promised that its size cannot change:
// otherwise its owner could shrink it and kill us with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::shm {

/// A range of mapped memory that unmaps itself. Move-only.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] static Result<Mapping> of(int descriptor, std::size_t bytes, bool writable);
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  explicit Mapping(std::span<std::byte> memory) noexcept : memory_(memory) {}
  std::span<std::byte> memory_;
};

/// Memory that this process owns: zeroed, page aligned, mapped for reading and writing.
class OwnSegment {
 public:
  /// Errors: bad_argument (no bytes), resource.
  [[nodiscard]] static Result<OwnSegment> create(std::size_t bytes, std::string_view name);

  [[nodiscard]] std::span<std::byte> memory() const noexcept { return mapping_.memory(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

  /// Fixes the size for good and, for `read`, forbids any further writable mapping. The first call decides.
  /// Errors: bad_argument if sealed for the other access; resource.
  [[nodiscard]] Result<void> seal(Access access);

  /// Gives out the mapping, to be unmapped once the descriptor is closed, which costs little while the memory is mapped.
  [[nodiscard]] Mapping into_mapping() && noexcept { return std::move(mapping_); }

 private:
  OwnSegment(FileDescriptor descriptor, Mapping mapping) noexcept
      : descriptor_(std::move(descriptor)), mapping_(std::move(mapping)) {}
  FileDescriptor descriptor_;
  Mapping mapping_;
  std::optional<Access> sealed_for_;
};

/// Memory that a peer owns, mapped as far as the access allows.
class PeerSegment {
 public:
  /// Maps what a peer sent, after proving that it is a memfd of ordinary pages, of exactly `bytes`, and sealed in its size.
  /// Errors: bad_input (the proof failed), resource.
  [[nodiscard]] static Result<PeerSegment> open(FileDescriptor descriptor, std::uint64_t bytes, Access access);

  [[nodiscard]] std::span<std::byte> memory() const noexcept { return mapping_.memory(); }
  [[nodiscard]] Access access() const noexcept { return access_; }
  [[nodiscard]] Mapping into_mapping() && noexcept { return std::move(mapping_); }

 private:
  PeerSegment(Mapping mapping, Access access) noexcept : mapping_(std::move(mapping)), access_(access) {}
  Mapping mapping_;
  Access access_;
};

}  // namespace spindrift::fabric::shm
