// Groups of several members in one process, each with a runtime directory of its own, for tests of the public face.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/fabric/tls/authority.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift {

class GroupFixture {
 public:
  explicit GroupFixture(std::string fabric = "shm") : fabric_(std::move(fabric)) {
    // For whoever looks into a failure: SPINDRIFT_LOG_LEVEL=info ctest …
    if (const char* levels = std::getenv("SPINDRIFT_LOG_LEVEL")) value_or_throw(log::set_levels(levels));
    std::string pattern = (std::filesystem::temp_directory_path() / "spindrift-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    const auto name = value_or_throw(fabric::FabricName::parse(fabric_));
    using enum fabric::FabricName::BetweenHosts;
    if (name.between_hosts == tcp || name.between_hosts == ofi || name.between_hosts == verbs) make_keys();
  }
  ~GroupFixture() { std::filesystem::remove_all(directory_); }

  /// A group of `members` nodes with the subgroups "orders" (ordered) and "ticks" (unordered), everybody in both. `extra`
  /// goes on in section [SPINDRIFT].
  [[nodiscard]] Config config(unsigned node, unsigned members, const std::string& extra = "") const {
    return value_or_throw(Config::parse(text(node, members, extra), "test.cfg"));
  }
  /// The same as a file for a process of its own; its path.
  [[nodiscard]] std::string file(unsigned node, unsigned members, const std::string& extra = "") const {
    const std::string path = directory_ + "/" + std::to_string(node) + ".cfg";
    std::ofstream(path) << text(node, members, extra);
    return path;
  }

  /// Joins all members at once. Throws what the first failing one threw.
  [[nodiscard]] std::vector<std::unique_ptr<Group>> join(unsigned members, const std::string& extra = "") const {
    return join_from(0, members, extra);
  }
  /// Joins those from node `first` on; the others are somewhere else.
  [[nodiscard]] std::vector<std::unique_ptr<Group>> join_from(unsigned first, unsigned members,
                                                              const std::string& extra = "",
                                                              const GroupOptions& options = {}) const {
    std::vector<std::unique_ptr<Group>> groups(members - first);
    std::vector<std::thread> joining;
    std::vector<std::exception_ptr> failures(groups.size());
    for (unsigned i = 0; i < groups.size(); ++i) {
      joining.emplace_back([&, i] {
        try {
          groups[i] = std::make_unique<Group>(config(first + i, members, extra), options);
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

  /// Loopback addresses of this process's own: each node a host of its own, or, where a fabric knows of neighbors, the even
  /// on one and the odd on another. Over verbs the addresses of the devices, in turn.
  [[nodiscard]] std::string addresses() const {
    const auto pid = static_cast<unsigned>(::getpid());
    const std::string net = "127." + std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250) + ".";
    if (fabric_.ends_with("verbs")) return in_turn(verbs_hosts());
    if (!fabric_.starts_with("shm+")) return net + "<id>:7411";
    return in_turn({net + "201", net + "202"});
  }

 private:
  void make_keys() const {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto today = fabric::tls::valid_for(now, std::chrono::days(1));
    // It outlives what it signs, also what it signs later.
    auto authority = value_or_throw(
        fabric::tls::Authority::create(directory_ + "/keys", "test", fabric::tls::valid_for(now, std::chrono::days(2))));
    for (std::uint32_t node = 0; node < 8; ++node)
      value_or_throw(authority.add(value_or_throw(fabric::tls::Identity::of_member("test", NodeId(node))), today));
  }
  [[nodiscard]] std::string text(unsigned node, unsigned members, const std::string& extra) const {
    std::string ids;
    for (unsigned i = 0; i < members; ++i) ids += (i == 0 ? "" : ",") + std::to_string(i);
    std::string text = "[DERECHO]\nlocal_id = " + std::to_string(node) + "\n[SPINDRIFT]\ngroup_name = test\n";
    text += "members = " + ids + "\nruntime_directory = " + directory_ + "\n";
    text += "fabric = " + fabric_ + "\naddresses = " + addresses() + "\n";
    if (fabric_.ends_with("verbs")) text += "network_trusted = true\n";  // the devices' addresses are not of loopback
    text += "keys = " + directory_ + "/keys/<id>\n";
    text += (extra.empty() ? "join_timeout_ms = 20000\n" : extra) + "\n[LAYOUT]\njson_layout = '[{\"name\":\"orders\",";
    text += "\"members\":[" + ids + "]},{\"name\":\"ticks\",\"mode\":\"unordered\",\"members\":[" + ids + "]}]'\n";
    return text;
  }
  [[nodiscard]] static std::string in_turn(const std::vector<std::string>& hosts) {
    std::string list;
    for (unsigned node = 0; node < 8; ++node) {
      list +=
          (node == 0 ? "" : ", ") + std::to_string(node) + "@" + hosts[node % hosts.size()] + ":741" + std::to_string(node);
    }
    return list;
  }
  [[nodiscard]] static std::vector<std::string> verbs_hosts() {
    std::vector<std::string> hosts;
    for (const fabric::VerbsPort& port : value_or_throw(fabric::verbs_ports())) {
      const bool has_v4 = port.active && !port.addresses.empty() && port.addresses.front().find(':') == std::string::npos;
      if (has_v4) hosts.push_back(port.addresses.front());
    }
    if (hosts.empty()) throw std::runtime_error("no active port of an RDMA device has an IPv4 address");
    return hosts;
  }

  std::string fabric_;
  std::string directory_;
};

/// The error that the call threw, if it threw one.
template <class Call>
std::optional<Error> thrown_by(Call&& call) {
  try {
    call();
  } catch (const Exception& thrown) {
    return thrown.error();
  }
  return std::nullopt;
}

/// One after the other: what each sent before is delivered at all that are still there.
inline void leave_all(std::vector<std::unique_ptr<Group>>& groups) {
  for (auto& group : groups) group->leave();
}

/// Everything one member delivered in one subgroup, as text.
struct Journal {
  std::vector<std::string> lines;
  std::atomic<std::size_t> count{0};
  void await(std::size_t least) const {
    for (std::size_t now = count.load(); now < least; now = count.load()) count.wait(now);
  }
  void keep(std::span<const Delivery> batch) {
    for (const Delivery& delivery : batch) {
      lines.push_back(std::to_string(delivery.sender.value()) + ":" +
                      std::string(reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size()));
    }
    count = lines.size();
    count.notify_all();
  }
};

}  // namespace spindrift
