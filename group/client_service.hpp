// A member's part for clients outside of its group: what it offers them, and its port.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/group/channels.hpp>
#include <spindrift/group/client_port.hpp>
#include <spindrift/group/replicas.hpp>

namespace spindrift::group {

class ClientService final : public OfferedObjects {
 public:
  /// All of these outlive it.
  struct Member {
    const Config& config;
    const SharedState& state;
    const Channels& channels;
    const Replicas& replicas;
  };
  explicit ClientService(const Member& member) : member_(member) {}

  /// Lets clients in, if the configuration says so. `credentials` null: nobody proves anything. Errors: as ClientPort.
  [[nodiscard]] Result<void> start(NodeId self, std::shared_ptr<fabric::tls::Credentials> credentials,
                                   std::shared_ptr<AuditTrail> audit);

  [[nodiscard]] Found find(std::string_view subgroup) const override;
  [[nodiscard]] std::vector<std::string> members(std::string_view subgroup) const override;
  [[nodiscard]] std::string name() const override { return member_.state.own_name(); }

 private:
  const Member member_;
  ClientPort port_{*this};
};

}  // namespace spindrift::group
