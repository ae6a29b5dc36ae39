// The replicated map: what the program keeps. No line here is about disks, other processes or threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/persistent.hpp>
#include <spindrift/replicated.hpp>

namespace config_store {

/// A value, and the version of the store that it came with.
struct Versioned {
  std::string value;
  std::uint64_t version = 0;
};

/// A value that a key had, or that it had none any more, from a version on; its time is that of this process.
struct Change {
  std::uint64_t version = 0;
  spindrift::LogTime time{};
  std::optional<std::string> value{};
};

/// Its version is one more than that of the log's last change, so it names a state of the whole map, and is the same at all
/// processes. Each key keeps the values that it had last, also when it was deleted.
class Store {
 public:
  static constexpr std::size_t values_kept = 100;  ///< of each key

  /// Hears of each change, on the thread that makes it: the key, and what it has now.
  using Watch = std::function<void(const std::string& key, const std::optional<Versioned>& now)>;
  explicit Store(Watch watch) : watch_(std::move(watch)) {}

  /// The version that the store has with it.
  std::uint64_t put(const std::string& key, const std::string& value) {
    change(key, value);
    watch_(key, Versioned{value, version_});
    return version_;
  }
  /// The same if the key still has the value of that version (0: none); else it does nothing.
  std::optional<std::uint64_t> replace(const std::string& key, std::uint64_t expected, const std::string& value) {
    const auto now = find(key);
    if ((now ? now->version : 0) != expected) return std::nullopt;
    return put(key, value);
  }
  /// The version that the store has without it; none if it was not there.
  std::optional<std::uint64_t> erase(const std::string& key) {
    if (!find(key)) return std::nullopt;
    change(key, std::nullopt);
    watch_(key, std::nullopt);
    return version_;
  }

  [[nodiscard]] std::optional<Versioned> find(const std::string& key) const { return find_at(key, version_); }
  /// As of a version of the store. Throws spindrift::NoVersion: that is not kept any more, or not known here yet.
  [[nodiscard]] std::optional<Versioned> find_at(const std::string& key, std::uint64_t version) const {
    const auto found = values_.find(key);
    if (version == 0 || found == values_.end()) return std::nullopt;
    const Values& values = found->second;
    if (values.state(version - 1) == spindrift::VersionState::never_was) return std::nullopt;
    const auto value = values.at(version - 1);
    return *value ? std::optional(Versioned{**value, values.find(version - 1).version + 1}) : std::nullopt;
  }
  /// The values of a key that are kept, the oldest first.
  [[nodiscard]] std::vector<Change> history(const std::string& key) const {
    std::vector<Change> changes;
    const auto found = values_.find(key);
    if (found == values_.end()) return changes;
    for (const auto& kept : found->second.versions())
      changes.push_back({kept.version + 1, kept.time, *found->second.at(kept.version)});
    return changes;
  }
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, values] : values_) {
      if (values.get()) keys.push_back(key);
    }
    return keys;
  }
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  using Values = spindrift::Persistent<std::optional<std::string>>;

  void change(const std::string& key, const std::optional<std::string>& value) {
    Values& values = values_.try_emplace(key, spindrift::KeepVersions{values_kept}).first->second;
    values.set(value);
    version_ = *values.latest_version() + 1;
  }

  Watch watch_;
  std::map<std::string, Values> values_;
  std::uint64_t version_ = 0;

 public:
  /// The calls that run at all processes; queries read the own map.
  using Methods = spindrift::Replicates<&Store::put, &Store::replace, &Store::erase>;
};

}  // namespace config_store
