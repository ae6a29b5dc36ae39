// Memory of this process that peers and own operations may be using: allocated here, or adopted from who keeps it.
//
// The invariant to remember: a region's memory goes when it was released, no peer's write may still land in it and no own
// operation needs its bytes; not before, and not later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {

/// A provider knows memory by this, and something ends with it: a peer's right, or the provider's own way to the bytes.
class Registration {
 public:
  Registration() = default;
  virtual ~Registration() = default;
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
};

/// A provider's own handle, which gives back what it stands for when it goes.
template <class Handle>
class HeldRegistration final : public Registration {
 public:
  explicit HeldRegistration(Handle handle) : handle_(std::move(handle)) {}
  [[nodiscard]] const Handle& handle() const noexcept { return handle_; }

 private:
  const Handle handle_;
};

/// The source of regions' memory. Belongs to the poller.
class MemorySource {
 public:
  MemorySource() = default;
  virtual ~MemorySource() = default;
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;
  /// Zeroed and page aligned; `bytes` is a whole number of pages. Errors: resource.
  [[nodiscard]] virtual Result<std::span<std::byte>> take(std::size_t bytes) = 0;
  /// Takes back memory that `take` gave. `fenced`: a peer may not have known that its right to write there had ended when
  /// its connection was closed. A source that is not sure that nothing is under way on closed connections gives such memory
  /// to nobody again.
  virtual void give_back(std::span<std::byte> memory, bool fenced) noexcept = 0;
  /// Memory that somebody else has allocated is used from now on as if `take` had given it. Errors: resource.
  [[nodiscard]] virtual Result<void> adopt(std::span<std::byte>) { return {}; }
  /// Gives up memory that was adopted; it goes with its keeper, which a source that is not sure keeps if it is fenced.
  virtual void give_up(std::span<std::byte>, std::unique_ptr<Registration>, bool) noexcept {}
};
/// A mapping for each region.
[[nodiscard]] std::unique_ptr<MemorySource> private_mappings();

struct OwnRegion {
  std::span<std::byte> memory;
  std::size_t taken_bytes = 0;  ///< of the source; 0: adopted
  std::uint32_t reading = 0;    ///< own operations that read or fill it and are not done
  std::uint32_t granted = 0;    ///< peers whose writes may still land in it, or that it is exposed to
  bool released = false;
  bool fenced = false;                         ///< as MemorySource::give_back has it
  std::unique_ptr<Registration> registration;  ///< for own operations, if the provider wants one
  std::unique_ptr<Registration> keeper;        ///< of adopted memory, which goes with it
};

/// Belongs to the poller. Places of regions stay.
class OwnRegions {
 public:
  /// `forget` hears of a region before its memory goes.
  OwnRegions(std::unique_ptr<MemorySource> source, std::function<void(const OwnRegion&)> forget)
      : source_(std::move(source)), forget_(std::move(forget)) {}
  ~OwnRegions() { clear(); }
  OwnRegions(const OwnRegions&) = delete;
  OwnRegions& operator=(const OwnRegions&) = delete;

  /// As Fabric::allocate has it.
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name);
  /// Memory that somebody else has allocated; what keeps it ends when the region's memory would go. No region has this key,
  /// nor any byte of it.
  /// Errors: as MemorySource::adopt.
  [[nodiscard]] Result<void> adopt(RegionKey key, std::span<std::byte> memory, std::unique_ptr<Registration> keeper);
  /// Null if there is no such region, or it was released.
  [[nodiscard]] OwnRegion* find(RegionKey key) noexcept;
  /// The key is dead from here on; the memory stays until `settle` finds it unused. Null if there is no such region.
  [[nodiscard]] OwnRegion* release(RegionKey key);
  /// The region that has all of these bytes; null if there is none.
  [[nodiscard]] OwnRegion* holding(const std::byte* memory, std::size_t bytes) noexcept;

  /// Gives the memory back if it is time.
  void settle(OwnRegion& region);
  void settle_released();
  /// Nothing uses any of it any more.
  void clear();

 private:
  void give_back(OwnRegion& region);

  const std::unique_ptr<MemorySource> source_;
  const std::function<void(const OwnRegion&)> forget_;
  std::map<const std::byte*, OwnRegion> memory_;  ///< by where it begins
  std::unordered_map<RegionKey, OwnRegion*> keys_;
  std::unordered_set<OwnRegion*> released_;
};

}  // namespace spindrift::fabric::connected
