// The values that one Persistent field had (persistent.hpp), by version: whole ones, and deltas between them.
//
// The invariant to remember: a value that was lent to a reader, or is kept whole, is never changed; the next change is made
// to a copy. The first record has a whole value, if there is a second one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <spindrift/group/kept_version.hpp>

namespace spindrift {

namespace replicated {

/// Stands for the deltas of a type that has none.
struct NoDelta {};
template <class T>
struct DeltaOfType {
  using type = NoDelta;
};
template <AppliesDeltas T>
struct DeltaOfType<T> {
  using type = typename T::Delta;
};
template <class T>
using DeltaOf = typename DeltaOfType<T>::type;

/// Whether a value is others' too. Readers that share a lock lend it; a change excludes them. A copy shares the value.
class Lent {
 public:
  Lent() noexcept = default;
  Lent(const Lent& other) noexcept : is_(true) { other.lend(); }
  Lent(Lent&& other) noexcept : is_(other.is_.load(std::memory_order_relaxed)) {}
  Lent& operator=(const Lent& other) noexcept {
    other.lend();
    lend();
    return *this;
  }
  Lent& operator=(Lent&& other) noexcept {
    is_.store(other.is_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }
  ~Lent() = default;

  void lend() const noexcept { is_.store(true, std::memory_order_relaxed); }
  /// Whether it was; it is not any more.
  [[nodiscard]] bool take_back() noexcept { return is_.exchange(false, std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> is_{false};
};

template <std::copy_constructible T>
class KeptValues {
 public:
  using Delta = DeltaOf<T>;

  KeptValues(std::shared_ptr<T> initial, KeepVersions keep) : present_(std::move(initial)), keep_(keep) {}

  // Changes, which exclude each other and all reading. The first ones, before any `begin`, make the initial value.
  /// Changes from now on make that version, which is later than those before, of a time that is not earlier.
  void begin(const KeptVersion& next) {
    if (!records_.empty()) end_latest();
    records_.push_back({next});
    if (!began_) began_ = next;
    if (keep_.count != 0 && records_.size() - hidden_ > keep_.count) hide_below(records_.size() - keep_.count);
  }
  /// The value, for any change.
  [[nodiscard]] T& edit() {
    T& value = changeable();
    note_whole();
    return value;
  }
  void set(T value) {
    present_ = std::make_shared<T>(std::move(value));
    static_cast<void>(lent_.take_back());
    note_whole();
  }
  /// One that throws may have changed the value: then all of it is kept.
  void apply(Delta delta) {
    T& value = changeable();
    const bool by_deltas = !records_.empty() && !records_.back().edited;
    if (by_deltas) records_.back().edited = true;
    value.apply(std::as_const(delta));
    if (!by_deltas) return;
    records_.back().deltas.push_back(std::move(delta));
    records_.back().edited = false;
    ++deltas_since_whole_;
  }
  /// Values as of versions below that one need not be kept, but for that as of the version itself.
  void trim(std::uint64_t below) {
    if (const auto at = index_by(below, &KeptVersion::version)) hide_below(*at);
  }

  // Reading, by any number at once.
  [[nodiscard]] const T& present() const noexcept { return *present_; }
  [[nodiscard]] const KeptVersion* first() const noexcept { return records_.empty() ? nullptr : &records_[hidden_].at; }
  [[nodiscard]] const KeptVersion* latest() const noexcept { return records_.empty() ? nullptr : &records_.back().at; }
  [[nodiscard]] std::vector<KeptVersion> kept() const {
    std::vector<KeptVersion> all;
    all.reserve(records_.size() - hidden_);
    for (std::size_t i = hidden_; i < records_.size(); ++i) all.push_back(records_[i].at);
    return all;
  }
  /// `known_end`: versions below it have been.
  [[nodiscard]] VersionState state(std::uint64_t version, std::uint64_t known_end) const noexcept {
    return state_by(version, known_end, &KeptVersion::version);
  }
  /// `settled`: of what is earlier all is here.
  [[nodiscard]] VersionState state(LogTime time, LogTime settled) const noexcept {
    return state_by(time, settled, &KeptVersion::time);
  }
  /// The latest one that is not later than that; its state is `kept`.
  [[nodiscard]] const KeptVersion& find(std::uint64_t version) const {
    return records_[*index_by(version, &KeptVersion::version)].at;
  }
  [[nodiscard]] const KeptVersion& find(LogTime time) const { return records_[*index_by(time, &KeptVersion::time)].at; }
  /// The value of that one, which is kept.
  [[nodiscard]] std::shared_ptr<const T> value(const KeptVersion& kept) const {
    const std::size_t at = *index_by(kept.version, &KeptVersion::version);
    if (at + 1 < records_.size()) return made_of(at);
    lent_.lend();
    return present_;
  }

  /// All that can be read, and the bounds' state; `keep` is the program's.
  template <class Archive>
  void save(Archive& archive) const {
    put(archive, began_.value_or(KeptVersion{}));
    archive(std::uint64_t{hidden_}, std::uint64_t{deltas_since_whole_}, std::uint64_t{records_.size()});
    for (const Record& record : records_) {
      put(archive, record.at);
      archive(record.edited, record.whole != nullptr);
      if (record.whole != nullptr) archive(*record.whole);
      if constexpr (AppliesDeltas<T>) archive(record.deltas);
    }
    archive(*present_);
  }
  /// In place of what is here. Throws std::runtime_error: no `save` has written that; nothing is changed then.
  template <class Archive>
  void load(Archive& archive) {
    KeptValues loaded(std::make_shared<T>(), keep_);
    const KeptVersion began = taken<KeptVersion>(archive);
    loaded.hidden_ = taken<std::uint64_t>(archive);
    loaded.deltas_since_whole_ = taken<std::uint64_t>(archive);
    const auto count = taken<std::uint64_t>(archive);
    for (std::uint64_t i = 0; i < count; ++i) loaded.records_.push_back(taken<Record>(archive));
    archive(*loaded.present_);
    if (count > 0) loaded.began_ = began;
    if (!loaded.consistent()) throw std::runtime_error("the versions of a Persistent field do not follow each other");
    *this = std::move(loaded);
  }

 private:
  struct Record {
    KeptVersion at;
    std::shared_ptr<const T> whole{};  ///< the value; null: that of the record before, and the deltas
    std::vector<Delta> deltas{};
    bool edited = false;  ///< by more than the deltas, so that its value will be kept whole
  };

  template <class Archive>
  static void put(Archive& archive, const KeptVersion& kept) {
    archive(kept.version, std::int64_t{kept.time.time_since_epoch().count()});
  }
  template <class What, class Archive>
  static What taken(Archive& archive) {
    What what{};
    if constexpr (std::is_same_v<What, KeptVersion>) {
      what.version = taken<std::uint64_t>(archive);
      what.time = LogTime(std::chrono::nanoseconds(taken<std::int64_t>(archive)));
    } else if constexpr (std::is_same_v<What, Record>) {
      what.at = taken<KeptVersion>(archive);
      what.edited = taken<bool>(archive);
      if (taken<bool>(archive)) what.whole = std::make_shared<const T>(taken<T>(archive));
      if constexpr (AppliesDeltas<T>) archive(what.deltas);
    } else {
      archive(what);
    }
    return what;
  }
  /// Reading relies on that.
  [[nodiscard]] bool consistent() const {
    if (records_.empty()) return hidden_ == 0;
    const auto later = [](const Record& a, const Record& b) {
      return a.at.version >= b.at.version || a.at.time > b.at.time;
    };
    return hidden_ < records_.size() && (records_.size() == 1 || records_.front().whole != nullptr) &&
           began_->version <= records_.front().at.version &&
           std::adjacent_find(records_.begin(), records_.end(), later) == records_.end();
  }

  [[nodiscard]] T& changeable() {
    if (lent_.take_back()) present_ = std::make_shared<T>(std::as_const(*present_));
    return *present_;
  }
  void note_whole() {
    if (records_.empty()) return;
    records_.back().edited = true;
    records_.back().deltas.clear();
  }
  // Without a copy: the next change makes one.
  void end_latest() {
    Record& latest = records_.back();
    const bool deltas_suffice = !latest.edited && records_.front().whole != nullptr;
    if (deltas_suffice && deltas_since_whole_ < keep_.deltas_max) return;
    latest.whole = present_;
    latest.deltas.clear();
    latest.edited = false;
    lent_.lend();
    deltas_since_whole_ = 0;
  }
  /// Records below that one cannot be read any more; those that it needs stay.
  void hide_below(std::size_t first) {
    hidden_ = std::max(hidden_, first);
    std::size_t base = hidden_;
    while (base > 0 && records_[base].whole == nullptr) --base;
    records_.erase(records_.begin(), std::next(records_.begin(), static_cast<std::ptrdiff_t>(base)));
    hidden_ -= base;
  }
  /// The last record that can be read whose version, or time, is not above that.
  template <class Key>
  [[nodiscard]] std::optional<std::size_t> index_by(const Key& key, Key KeptVersion::*part) const {
    const auto readable = std::next(records_.begin(), static_cast<std::ptrdiff_t>(hidden_));
    const auto behind = std::upper_bound(readable, records_.end(), key,
                                         [part](const Key& is, const Record& record) { return is < record.at.*part; });
    if (behind == readable) return std::nullopt;
    return static_cast<std::size_t>(std::distance(records_.begin(), behind)) - 1;
  }
  template <class Key>
  [[nodiscard]] VersionState state_by(const Key& key, const Key& known_end, Key KeptVersion::*part) const noexcept {
    if (key >= known_end) return VersionState::not_yet;
    if (!began_ || key < (*began_).*part) return VersionState::never_was;
    return key < records_[hidden_].at.*part ? VersionState::trimmed : VersionState::kept;
  }
  [[nodiscard]] std::shared_ptr<const T> made_of(std::size_t at) const {
    if (records_[at].whole != nullptr) return records_[at].whole;
    std::size_t base = at;
    while (records_[base].whole == nullptr) --base;
    auto value = std::make_shared<T>(*records_[base].whole);
    if constexpr (AppliesDeltas<T>) {
      for (std::size_t i = base + 1; i <= at; ++i) {
        for (const Delta& delta : records_[i].deltas) value->apply(delta);
      }
    }
    return value;
  }

  std::shared_ptr<T> present_;  // of the last record; before there is one, the initial value
  Lent lent_;
  std::deque<Record> records_;  // in order
  std::size_t hidden_ = 0;      // the first so many cannot be read: they are there for those behind them
  std::size_t deltas_since_whole_ = 0;
  std::optional<KeptVersion> began_;  // the first one ever
  KeepVersions keep_;
};

}  // namespace replicated
}  // namespace spindrift
