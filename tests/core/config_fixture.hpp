// The config's tests share this: parsing a text that must be right or must be wrong.
#pragma once

#include <catch2/catch.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/config/config.hpp>

namespace spindrift::test {

inline Config parse(std::string_view text, const std::vector<ConfigOverride>& flags = {},
                    const Config::Environment& environment = {}) {
  auto config = Config::parse(text, "test.cfg", flags, environment);
  INFO((config ? std::string() : config.error().to_string()));
  REQUIRE(config);
  return std::move(config).value();
}

/// A layout beside the members 0, 1, 2, … of a group of `count`.
inline std::string with_layout(std::string_view json, unsigned count = 3) {
  std::string members;
  for (unsigned id = 0; id < count; ++id) members += (id == 0 ? "" : ", ") + std::to_string(id);
  return "[SPINDRIFT]\nmembers = " + members + "\n[LAYOUT]\njson_layout = '" + std::string(json) + "'\n";
}

/// The section of a configuration that may have logged subgroups.
inline const std::string with_journals = "[PERS]\nfile_path = /var/lib/spindrift\n";

/// A problem must stand at `place` and name cause and fix.
struct Expected {
  std::string place;
  std::string cause;
  std::string fix;
};

inline void check_problems(const std::vector<Error>& problems, std::initializer_list<Expected> expected) {
  for (const Error& problem : problems) UNSCOPED_INFO(problem.to_string());
  REQUIRE(problems.size() == expected.size());
  std::size_t i = 0;
  for (const Expected& wanted : expected) {
    const Error& problem = problems[i++];
    CHECK(problem.kind() == ErrorKind::bad_config);
    CHECK(problem.place() == wanted.place);
    CHECK_THAT(problem.message(), Catch::Contains(wanted.cause));
    CHECK_THAT(problem.fix(), Catch::Contains(wanted.fix));
  }
}

inline void check_text_problems(std::string_view text, std::initializer_list<Expected> expected) {
  check_problems(Config::check_text(text, "test.cfg"), expected);
}

inline std::vector<NodeId> ids(std::initializer_list<std::uint32_t> numbers) {
  std::vector<NodeId> result;
  for (const std::uint32_t number : numbers) result.emplace_back(number);
  return result;
}

inline EffectiveValue effective(const Config& config, std::string_view section, std::string_view key) {
  for (EffectiveValue& value : config.effective()) {
    if (value.section == section && value.key == key) return value;
  }
  FAIL("no such key");
  return {};
}

}  // namespace spindrift::test
