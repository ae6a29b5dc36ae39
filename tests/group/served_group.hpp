// A group in this process whose members let clients in, and the keys of clients.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/tls/authority.hpp>
#include <spindrift/group/client.hpp>

#include "group_replicas.hpp"

namespace spindrift {

/// Each node is a host of its own, on loopback.
template <class T>
class ServedGroup {
 public:
  explicit ServedGroup(unsigned count, std::string more = "", bool offered = true)
      : members(count), extra("join_timeout_ms = 20000\nclient_port = 7600\n" + std::move(more)) {
    groups = fixture.join(members, extra);
    replicas = replicas_of<T>(groups);
    for (auto& each : replicas) {
      if (offered) each.offer();
    }
  }

  [[nodiscard]] std::string keys_of(fabric::tls::Role role, const std::string& name) const {
    auto authority = value_or_throw(fabric::tls::Authority::open(fixture.directory() + "/keys"));
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto issued =
        value_or_throw(authority.add(value_or_throw(fabric::tls::Identity::of_role("test", role, name)),
                                     fabric::tls::valid_for(now, std::chrono::days(1))));
    return authority.bundle_directory(issued.identity);
  }
  [[nodiscard]] std::string address_of(unsigned node) const {
    return config::client_address_of(fixture.config(0, members, extra), NodeId(node));
  }
  /// The options of a client that knows this member alone at first.
  [[nodiscard]] ClientOptions options(unsigned node, const std::string& name = "teller") const {
    ClientOptions options;
    options.members = {address_of(node)};
    options.group_name = "test";
    options.keys = keys_of(fabric::tls::Role::client, name);
    return options;
  }
  [[nodiscard]] ClientOptions open_options(unsigned node) const {
    ClientOptions options;
    options.members = {address_of(node)};
    return options;
  }

  GroupFixture fixture{"tcp"};
  unsigned members;
  std::string extra;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<Replicated<T>> replicas;
};

}  // namespace spindrift
