// The peers that a device has taken in, by handle. A peer that is taken in twice has one handle, and is forgotten when it
// has been forgotten twice.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

/// `Name` tells peers apart. `Path` is what the device has made to reach one, and goes with it.
template <class Name, class Path>
class PeerTable {
 public:
  struct Peer {
    Name name;
    Path path;
    std::uint32_t uses = 0;
  };

  explicit PeerTable(std::uint32_t peers_max) : peers_max_(peers_max) {}

  /// `make_path` gives a Result<Path>, of a peer that is not here. Errors: its, and resource if there are too many.
  template <class MakePath>
  [[nodiscard]] Result<PeerHandle> add(const Name& name, MakePath&& make_path) {
    if (const auto known = handles_.find(name); known != handles_.end()) {
      ++peers_[known->second.value() - 1].uses;
      return known->second;
    }
    if (handles_.size() == peers_max_)
      return Error(ErrorKind::resource, "more peers than the device was opened for").fix("raise peers_max");
    SPINDRIFT_TRY_ASSIGN(Path path, make_path());
    if (free_.empty()) {
      peers_.emplace_back();
      free_.emplace_back(static_cast<std::uint32_t>(peers_.size()));
    }
    const PeerHandle handle = free_.back();
    free_.pop_back();
    peers_[handle.value() - 1] = Peer{name, std::move(path), 1};
    handles_.emplace(name, handle);
    return handle;
  }
  /// Whether it is gone now. Unknown handles are ignored.
  [[nodiscard]] bool remove(PeerHandle handle) {
    if (find(handle) == nullptr) return false;
    Peer& peer = peers_[handle.value() - 1];
    if (--peer.uses > 0) return false;
    handles_.erase(peer.name);
    free_.push_back(handle);
    peer.path = Path{};
    return true;
  }
  /// Null if unknown.
  [[nodiscard]] const Peer* find(PeerHandle handle) const noexcept {
    if (handle.value() == 0 || handle.value() > peers_.size()) return nullptr;
    const Peer& peer = peers_[handle.value() - 1];
    return peer.uses == 0 ? nullptr : &peer;
  }

 private:
  const std::uint32_t peers_max_;
  std::vector<Peer> peers_;  ///< by handle - 1
  std::vector<PeerHandle> free_;
  std::map<Name, PeerHandle> handles_;  ///< of peers that are not forgotten
};

}  // namespace spindrift::kernel
