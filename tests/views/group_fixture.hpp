// Groups of several members in one process, each with a runtime directory of its own, for tests of the public face.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/views/group.hpp>

namespace spindrift {

class GroupFixture {
 public:
  GroupFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spindrift-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~GroupFixture() { std::filesystem::remove_all(directory_); }

  /// A group of `members` nodes with the subgroups "orders" (ordered) and "ticks" (unordered), everybody in both. `extra`
  /// goes on in section [SPINDRIFT].
  [[nodiscard]] Config config(unsigned node, unsigned members, const std::string& extra = "") const {
    std::string ids;
    for (unsigned i = 0; i < members; ++i) ids += (i == 0 ? "" : ",") + std::to_string(i);
    const std::string text = "[DERECHO]\nlocal_id = " + std::to_string(node) +
                             "\n[SPINDRIFT]\ngroup_name = test\nmembers = " + ids + "\nruntime_directory = " + directory_ +
                             "\n" + (extra.empty() ? "join_timeout_ms = 20000\n" : extra) +
                             "\n[LAYOUT]\njson_layout = '[{\"name\":\"orders\",\"members\":[" + ids +
                             "]},{\"name\":\"ticks\",\"mode\":\"unordered\",\"members\":[" + ids + "]}]'\n";
    return value_or_throw(Config::parse(text, "test.cfg"));
  }

  /// Joins all members at once. Throws what the first failing one threw.
  [[nodiscard]] std::vector<std::unique_ptr<Group>> join(unsigned members, const std::string& extra = "") const {
    std::vector<std::unique_ptr<Group>> groups(members);
    std::vector<std::thread> joining;
    std::vector<std::exception_ptr> failures(members);
    for (unsigned i = 0; i < members; ++i) {
      joining.emplace_back([&, i] {
        try {
          groups[i] = std::make_unique<Group>(config(i, members, extra));
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
    for (std::thread& thread : joining) thread.join();
    for (const auto& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
    return groups;
  }

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }

 private:
  std::string directory_;
};

/// Everything one member delivered in one subgroup, as text.
struct Journal {
  std::vector<std::string> lines;
  void keep(std::span<const Delivery> batch) {
    for (const Delivery& delivery : batch) {
      lines.push_back(std::to_string(delivery.sender.value()) + ":" +
                      std::string(reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size()));
    }
  }
};

}  // namespace spindrift
