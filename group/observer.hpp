// Watching a subgroup from outside: an observer receives what the members deliver, in their order, without being one. It has
// no vote, counts for no majority and no minimum, and holds up nobody: one that reads too slowly is overtaken, and told what
// it has missed.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <spindrift/core/config/config.hpp>
#include <spindrift/group/observation.hpp>

namespace spindrift {

class ObserverCore;

/// Called by Observer::poll, on its thread.
struct ObserverHandlers {
  /// A message. `payload` is a copy, 8-byte aligned, valid until this returns.
  std::function<void(const Delivery&)> on_message;
  /// Messages that this observer has missed, before the message that follows them. May be null.
  std::function<void(const Gap&)> on_gap;
};

/// The options that an observer may be given.
struct ObserverOptions {
  /// The member that feeds the observer; nothing: any, and another one when that one leaves or dies.
  std::optional<NodeId> source;
};

/// One subgroup, observed from the next message on that a member delivers, view after view. Members copy what they deliver
/// into a ring in shared memory as long as somebody observes (about 8 MiB per subgroup, more where messages are large; what
/// is larger than a quarter of 256 MiB counts as missed), and observers of their host map it for reading. Where no member of
/// this host answers within 200 ms, those of other hosts are asked over the network, if [SPINDRIFT] observer_port says
/// where; a thread beside their pollers sends what it reads in that ring. Of a subgroup that delivers more than [SPINDRIFT]
/// observer_bytes_per_s of that member allows, observers get a part, in runs, and are told of the gaps. When the member that
/// feeds it goes, an observer goes on with another one; in an ordered subgroup it then still gets each message once, or is
/// told of the gap. Not thread-safe: one thread at a time; a search over the network has threads of its own, which end with
/// it or with this object.
class Observer {
 public:
  /// The configuration says by [SPINDRIFT] group_name and runtime_directory where the members of this host are, by addresses
  /// and observer_port where those of others, and by join_timeout_ms how long to look for one; it needs no local_id. With
  /// security = tls, keys names the bundle of an observer or a member, which is read once others are asked. Does not wait.
  /// Throws: refused (others could write the directory), resource.
  Observer(const Config& config, std::string_view subgroup, ObserverHandlers handlers, ObserverOptions options = {});
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Hands over what is there by now, at most so many messages, without waiting. Returns how many it was. Throws: what a
  /// handler throws; bad_argument (the group has no such subgroup); refused (keys that may not observe this group, and no
  /// member of this host is there); timed_out (no member was there for join_timeout_ms, or none had room; it has what each
  /// one answered); bad_input (what no correct member writes or sends); resource.
  std::size_t poll(std::size_t most = 1024);
  /// Returns when `poll` has something to do, or may have (true): in a busy subgroup it sleeps for up to 8 ms first (64 ms
  /// while all is left out), so that there is much to do at once. Or when `interrupt`, a descriptor, is readable or the time
  /// is over (false). -1: none; nothing: for as long as it takes.
  [[nodiscard]] bool wait(int interrupt = -1, std::optional<std::chrono::milliseconds> at_most = std::nullopt);

  /// The member that feeds this observer; nothing: it looks for one.
  [[nodiscard]] std::optional<NodeId> source() const noexcept;
  /// While it looks for one: what it waits for, in words.
  [[nodiscard]] std::string waits_for() const;

 private:
  std::unique_ptr<ObserverCore> core_;
};

}  // namespace spindrift
