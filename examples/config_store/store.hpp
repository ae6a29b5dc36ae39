// The replicated map: what the program keeps. No line here is about disks, other processes or threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/replicated.hpp>

namespace config_store {

/// A value, and the version of the store that it came with.
struct Versioned {
  std::string value;
  std::uint64_t version = 0;
};

/// Its version grows by one with each change, so it names a state of the whole map, and is the same at all processes.
class Store {
 public:
  /// Hears of each change, on the thread that makes it: the key, and what it has now.
  using Watch = std::function<void(const std::string& key, const std::optional<Versioned>& now)>;
  explicit Store(Watch watch) : watch_(std::move(watch)) {}

  /// The version that the store has with it.
  std::uint64_t put(const std::string& key, const std::string& value) {
    const Versioned& now = values_[key] = {value, ++version_};
    watch_(key, now);
    return version_;
  }
  /// The same if the key still has the value of that version (0: none); else it does nothing.
  std::optional<std::uint64_t> replace(const std::string& key, std::uint64_t expected, const std::string& value) {
    const auto found = values_.find(key);
    if ((found == values_.end() ? 0 : found->second.version) != expected) return std::nullopt;
    return put(key, value);
  }
  /// The version that the store has without it; none if it was not there.
  std::optional<std::uint64_t> erase(const std::string& key) {
    if (values_.erase(key) == 0) return std::nullopt;
    ++version_;
    watch_(key, std::nullopt);
    return version_;
  }

  [[nodiscard]] std::optional<Versioned> find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) keys.push_back(key);
    return keys;
  }
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  Watch watch_;
  std::map<std::string, Versioned> values_;
  std::uint64_t version_ = 0;

 public:
  /// The calls that run at all processes; queries read the own map.
  using Methods = spindrift::Replicates<&Store::put, &Store::replace, &Store::erase>;
};

}  // namespace config_store
