// A field of a replicated object whose earlier values can be read, by version and by time, in a logged subgroup.
//
//   #include <spindrift/persistent.hpp>
//   #include <spindrift/replicated.hpp>
//
//   struct Ledger {
//     std::uint64_t deposit(std::string account, long cents) {             // an update: it makes a version of the field
//       balances.edit()[account] += cents;
//       return *balances.latest_version();                                 // its own, the same at all members
//     }
//     long balance_at(std::string account, std::uint64_t version) const {  // a query
//       if (balances.state(version) == spindrift::VersionState::never_was) return 0;
//       const auto then = balances.at(version);                            // as of that version; no lock holds it
//       return then->contains(account) ? then->at(account) : 0;
//     }
//     spindrift::Persistent<std::map<std::string, long>> balances{spindrift::KeepVersions{1000}};
//     using Methods = spindrift::Replicates<&Ledger::deposit, &Ledger::balance_at>;
//   };
//
//   long before(spindrift::Replicated<Ledger>& ledger) {                   // of a subgroup with "storage": "logged"
//     const auto call = ledger.update<&Ledger::deposit>("Ann", 100);
//     call.durable();                                                      // so is the version that the call made
//     const std::uint64_t version = call.get();
//     return version == 0 ? 0 : ledger.query<&Ledger::balance_at>("Ann", version - 1);
//   }
//
// A version is that of the log (Delivery::version) of the update that changed the field, whatever it changed and how often;
// an update that changed it and threw has made one as well. Not each number is one: as of a number between two the value is
// that of the lower. What was set before the first update, as the constructor of the object does it, is the initial value,
// and no version.
//
// Versions are in memory, and the log makes them again, with the object: at a start, and at a newcomer, from the first one
// on, and trimmed as before. So a version is durable when its update is (Future::durable, Subgroup::await_durable(version)),
// and there is nothing else to wait for. A member that all others outlive, or that stops with all, finds a version that was
// durable; one that was not may be gone, and its number may be that of another update then.
//
// Times are those of the node's log: one clock, the node's, stamps the messages of all its logged subgroups, in the order in
// which it appends them, never backward; a replay has the times that the deliveries had, so a durable version has its time
// at this node for good. So what several objects of one node have as of one time is what they had here at one moment: a
// consistent cut of what this node was delivered, over fields and subgroups. It is no more than that: between subgroups
// there is no order but the one in which this node was delivered their messages.
//
// Members stamp by their own clocks, and at their own pace: the same time is another cut at another member. Between members
// versions compare, times do not; an update must depend on no times, and cannot read by them. What came from another
// member's log, as it was missed here, has that one's times, as far as they are neither to come by the own clock nor before
// what the own log ends with. A time that was answered for is settled: later messages have later times, whatever the clock
// does. That holds as long as the process lives; if the clock is set back while no process of the node runs, what follows
// begins behind the last time in the log.
//
// Threads: methods of the object use the field, and need nothing: updates have the object alone, queries share it with other
// queries. The value that `at` returns is never changed, and may be used anywhere, as long as it is held. Others must not
// use a field beside its object's methods.
//
// In a subgroup that is not logged there are no versions: Group::replicated throws bad_argument for an object that has such
// a field, and so does an update that makes one later. Where the log has a "history", and so begins at a checkpoint,
// `serialize` names the field: its versions are part of the state. Their times are those of the member whose log this
// node's began with.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/group/kept_values.hpp>
#include <spindrift/group/kept_version.hpp>
#include <spindrift/group/method_scope.hpp>

namespace spindrift {

namespace replicated {

template <class T>
consteval bool check_field_made() {
  constexpr bool made = std::default_initializable<T> && std::default_initializable<DeltaOf<T>>;
  static_assert(made, "a Persistent field is part of a saved state where its type, and that one's Delta, can be made by "
                      "default, to be read from bytes");
  return made;
}

}  // namespace replicated

/// T can be copied; a copy is made for each version, but see AppliesDeltas. It compares to Derecho's Persistent<T>. Copies
/// of a field have its versions; one that was moved from can only be destroyed or assigned to. What is assigned brings its
/// own versions, and those before are gone: `set` keeps them.
template <std::copy_constructible T>
class Persistent {
 public:
  using Delta = replicated::DeltaOf<T>;  ///< T::Delta, if there is one that T applies

  /// The initial value is T's default; all versions are kept until they are trimmed. Throws bad_argument, as all
  /// constructors: it is made for an object of a subgroup that is not logged.
  Persistent() : Persistent(KeepVersions{}) {}
  /// The same, and so many versions are kept.
  explicit Persistent(KeepVersions keep) : values_(std::make_shared<T>(), keep) {}
  /// With that initial value.
  explicit Persistent(T initial, KeepVersions keep = {}) : values_(std::make_shared<T>(std::move(initial)), keep) {}

  /// The present value: as of the latest version, or the initial one. In an update it is as changed so far. Valid until
  /// the field is changed.
  [[nodiscard]] const T& get() const noexcept { return values_.present(); }
  [[nodiscard]] const T& operator*() const noexcept { return get(); }    ///< the same
  [[nodiscard]] const T* operator->() const noexcept { return &get(); }  ///< the same

  /// The value, to be changed by the update under way, of which it makes a version, even if nothing is changed then. Valid
  /// until the update returns, and only until the field is changed otherwise, copied, or read by `at`. Before there is a
  /// version, outside of methods: the initial value. Throws bad_argument where no update of the object is under way, as far
  /// as that can be seen: in queries, on other threads.
  [[nodiscard]] T& edit() {
    begin_change();
    return values_.edit();
  }
  /// Makes that the value; otherwise as `edit`. Costs no copy of the value before.
  void set(T value) {
    begin_change();
    values_.set(std::move(value));
  }
  /// Changes the value by a delta, which is kept instead of a copy; otherwise as `edit`. What T::apply throws comes out:
  /// then a copy of what it has left is kept. An update that uses `edit` or `set` as well keeps a copy.
  void edit(Delta delta) requires AppliesDeltas<T> {
    begin_change();
    values_.apply(std::move(delta));
  }
  /// Lets go of what is not needed to read version `below` and later ones: the latest version that is not later than `below`
  /// stays, and so does the latest of all. As `edit`, but makes no version: the same at all members, and again in a replay.
  void trim(std::uint64_t below) {
    static_cast<void>(replicated::update_of_field(home_, latest_version().has_value()));
    values_.trim(below);
  }

  /// The value as of a version: as the latest one that is not later had left it. Never null; costs no copy, or that of a
  /// value and fewer than KeepVersions::deltas_max deltas. Throws NoVersion. A version is `not_yet` as long as the object
  /// has not got the message of that version, whatever that is; in an update, or an ordered query, that is the one under
  /// way.
  [[nodiscard]] std::shared_ptr<const T> at(std::uint64_t version) const { return values_.value(find(version)); }
  /// The value as of a time of this node's log, as the latest version that is not later had left it. Throws NoVersion. A
  /// time is `not_yet` as long as a message with it, or an earlier one, may come: in a query until it is past, and all with
  /// such times are applied, which is a moment later; in an ordered query up to its own time. Throws bad_argument in an
  /// update: times differ between members.
  [[nodiscard]] std::shared_ptr<const T> at_time(LogTime time) const { return values_.value(find_at(time)); }

  /// Whether `at` has an answer, and why not.
  [[nodiscard]] VersionState state(std::uint64_t version) const { return values_.state(version, known_end()); }
  /// Whether `at_time` has an answer, and why not. Throws bad_argument in an update.
  [[nodiscard]] VersionState state_at(LogTime time) const {
    replicated::refuse_times_in_update(home_);
    return values_.state(time, settled());
  }
  /// The version that the value as of that version is of, and its time. Throws NoVersion, as `at`.
  [[nodiscard]] KeptVersion find(std::uint64_t version) const {
    if (const VersionState is = state(version); is != VersionState::kept) {
      throw replicated::no_version({"version " + std::to_string(version), is, place(), values_.first()});
    }
    return values_.find(version);
  }
  /// The same by time, as `at_time`.
  [[nodiscard]] KeptVersion find_at(LogTime time) const {
    if (const VersionState is = state_at(time); is != VersionState::kept) {
      throw replicated::no_version({"time " + replicated::words_of(time), is, place(), values_.first()});
    }
    return values_.find(time);
  }
  /// The versions that are kept, in their order.
  [[nodiscard]] std::vector<KeptVersion> versions() const { return values_.kept(); }
  /// The first of them; nothing: there is none yet.
  [[nodiscard]] std::optional<std::uint64_t> first_version() const noexcept { return number_of(values_.first()); }
  /// The last of them, in an update that has changed the field its own; nothing: there is none yet.
  [[nodiscard]] std::optional<std::uint64_t> latest_version() const noexcept { return number_of(values_.latest()); }

  /// For the object's `serialize`: all versions that can be read, of a checkpoint. T and its Delta travel as
  /// replicated_bytes.hpp says, and can be made by default.
  template <class Archive>
  void save(Archive& archive) const {
    if constexpr (replicated::check_field_made<T>()) values_.save(archive);
  }
  /// The same; in place of what the field has. Throws std::runtime_error: `save` has not written that.
  template <class Archive>
  void load(Archive& archive) {
    if constexpr (replicated::check_field_made<T>()) values_.load(archive);
  }

 private:
  static std::optional<std::uint64_t> number_of(const KeptVersion* kept) noexcept {
    return kept == nullptr ? std::nullopt : std::optional(kept->version);
  }
  static LogTime time_of(std::uint64_t ns) { return LogTime(std::chrono::nanoseconds(static_cast<std::int64_t>(ns))); }

  void begin_change() {
    const KeptVersion* const latest = values_.latest();
    const replicated::MethodScope* const update = replicated::update_of_field(home_, latest != nullptr);
    if (update == nullptr || (latest != nullptr && latest->version == update->version())) return;
    // A version that came with a checkpoint has the time of another member's clock, which may be ahead of this one.
    const LogTime earliest = latest == nullptr ? LogTime() : latest->time;
    values_.begin({update->version().value(), std::max(earliest, time_of(update->time_ns()))});
  }
  [[nodiscard]] const replicated::MethodScope* scope() const noexcept {
    return home_ == nullptr ? nullptr : replicated::MethodScope::of(home_);
  }
  // A copy that has left its object knows of no later versions.
  [[nodiscard]] std::uint64_t known_end() const noexcept {
    if (const auto* const method = scope()) return method->applied_end();
    return values_.latest() == nullptr ? 0 : values_.latest()->version + 1;
  }
  [[nodiscard]] LogTime settled() const {
    if (const auto* const method = scope()) return time_of(method->settled_ns());
    return values_.latest() == nullptr ? LogTime() : values_.latest()->time + std::chrono::nanoseconds(1);
  }
  [[nodiscard]] std::string place() const { return replicated::place_of_field(scope() == nullptr ? nullptr : home_); }

  const replicated::ReplicaProgress* home_ = replicated::maker_of_field();  // compared; used in a method of it alone
  replicated::KeptValues<T> values_;
};

}  // namespace spindrift
