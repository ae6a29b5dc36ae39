// An object of a replicated type made a second time, beside the one of the group: from the beginning, or a checkpoint, and
// the calls of the log behind that. It is the same as the group's was there, because updates are deterministic; so its state
// can be saved for as long as that takes, and the group's object goes on.
//
// One thread, which the group's handlers do not run on.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>

#include <spindrift/core/result.hpp>
#include <spindrift/group/replicated_core.hpp>
#include <spindrift/store/entry.hpp>

namespace spindrift::group {

/// Makes an object as the program's was before its first call.
using ObjectMaker = std::function<std::unique_ptr<ReplicaBase>(ReplicaChannel&)>;

class ObjectCopy {
 public:
  /// `channel`: that of the group's object, which outlives it. Throws what the object's constructor throws.
  ObjectCopy(const ReplicaChannel& channel, const ObjectMaker& make);
  ~ObjectCopy();
  ObjectCopy(const ObjectCopy&) = delete;
  ObjectCopy& operator=(const ObjectCopy&) = delete;

  /// Before the first call: a checkpoint of that version. Errors: as of ReplicaBase::load.
  [[nodiscard]] Result<void> load(std::span<const std::byte> state, std::uint64_t version);
  /// The next message of the log. Errors: refused (it is no call of the program's methods).
  [[nodiscard]] Result<void> take(const store::Entry& message);
  /// Errors: as of ReplicaBase::save.
  [[nodiscard]] Result<void> save(std::ostream& to) const;

 private:
  class Channel;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<ReplicaBase> object_;
};

}  // namespace spindrift::group
