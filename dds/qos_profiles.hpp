// The profiles of a file of qualities, checked, and how they are put over an entity's qualities.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/config/ini.hpp>
#include <spindrift/dds/qos_keys.hpp>

namespace spindrift::topics {

/// Immutable.
struct QosSection {
  std::string name;
  unsigned line = 0;  ///< from 1
  std::vector<config::IniEntry> entries{};
};

class QosProfiles {
 public:
  /// Throws InvalidArgumentError with all that is wrong, each with its line of `file`.
  QosProfiles(std::string_view text, std::string file);
  /// Reads it. Throws InvalidArgumentError, also where it cannot be read.
  [[nodiscard]] static QosProfiles of_file(const std::string& path);

  [[nodiscard]] bool has(const std::string& profile) const { return find("QOS/" + profile) != nullptr; }
  /// "a, b": the names of all, for people.
  [[nodiscard]] std::string names() const;
  /// Puts the profile, and before it those that it is based on, over the qualities of an entity of that kind, which has the
  /// policies of those names.
  void put(AllQos& qos, const std::string& profile, const std::string& kind, const std::set<std::string>& has) const;

 private:
  [[nodiscard]] const QosSection* find(const std::string& section) const;
  [[nodiscard]] std::string base_of(const std::string& profile) const;
  using Problems = std::vector<Error>;
  [[nodiscard]] Error problem(unsigned line, std::string what, std::string fix) const;
  void take(config::IniText ini, Problems& problems);
  void check_section(const QosSection& section, Problems& problems) const;
  void check_entry(const config::IniEntry& entry, const std::string& kind, Problems& problems) const;
  void check_base(const QosSection& section, const config::IniEntry& entry, Problems& problems) const;

  std::string file_;
  std::vector<QosSection> sections_;
};

/// The names of the policies that they have.
template <class Qos>
[[nodiscard]] std::set<std::string> policy_names_of(const Qos& qos) {
  std::set<std::string> names;
  qos.for_each([&]<class Policy>(const Policy&) { names.insert(policies::policy_name<Policy>::name()); });
  return names;
}

}  // namespace spindrift::topics
