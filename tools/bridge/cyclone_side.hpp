// The participant of a domain of Cyclone DDS, and the endpoints of other participants that its built-in topics tell of.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <dds/dds.h>

#include <spindrift/dds/dynamic_type.hpp>

#include "bridge/opaque_type.hpp"

namespace spindrift::tools::bridge {

/// An entity of Cyclone DDS, which ends with this.
class CycloneEntity {
 public:
  CycloneEntity() = default;
  /// Throws resource where it is an error. `what` is it to be: "a reader".
  CycloneEntity(dds_entity_t made, const std::string& what);
  CycloneEntity(CycloneEntity&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  CycloneEntity& operator=(CycloneEntity&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CycloneEntity() {
    if (handle_ > 0) dds_delete(handle_);
  }
  [[nodiscard]] dds_entity_t get() const noexcept { return handle_; }

 private:
  dds_entity_t handle_ = 0;
};

/// Readers and participants that have news ring the bell of DynamicParticipant.
[[nodiscard]] const dds_listener_t* ringing_listener();

struct CycloneEndpoint {
  bool writes = false;
  std::string topic;
  std::string type_name;
  topics::EndpointQos qos{};
  std::shared_ptr<const topics::DynamicType> type{};  ///< null: it tells nothing of it, or `fault` says why
  std::optional<Error> fault{};
};

/// Not thread-safe.
class CycloneSide {
 public:
  /// Looks for endpoints of these topics. Throws resource.
  CycloneSide(std::uint32_t domain, std::set<std::string> wanted);

  /// Takes in what the built-in topics have to tell. Whether anything was new.
  bool look();
  [[nodiscard]] const std::map<dds_instance_handle_t, CycloneEndpoint>& endpoints() const noexcept { return endpoints_; }
  [[nodiscard]] dds_entity_t participant() const noexcept { return participant_.get(); }
  /// The mark of our endpoints whose samples come from, or go to, this domain of Cyclone DDS.
  [[nodiscard]] const std::string& mark() const noexcept { return mark_; }

 private:
  bool look(const CycloneEntity& reader, bool writes);
  bool note(dds_builtintopic_endpoint_t& told, dds_instance_handle_t handle, bool writes);
  static void forget(const CycloneEntity& reader, dds_instance_handle_t handle);
  /// Those whose type nobody described in time may answer now.
  bool ask_again();
  [[nodiscard]] CycloneEndpoint described(dds_builtintopic_endpoint_t& told, bool writes) const;

  const std::string mark_;
  std::set<std::string> wanted_;
  CycloneEntity participant_;
  dds_guid_t own_{};
  CycloneEntity publications_;
  CycloneEntity subscriptions_;
  std::map<dds_instance_handle_t, CycloneEndpoint> endpoints_;
  std::chrono::steady_clock::time_point ask_at_{};  // for types that nobody has described
};

/// A topic as Cyclone DDS has it, of opaque samples.
class CycloneTopic {
 public:
  /// Throws resource.
  CycloneTopic(const CycloneSide& side, const std::string& name, const std::string& type_name,
               const std::shared_ptr<const topics::DynamicType>& type);
  [[nodiscard]] dds_entity_t get() const noexcept { return topic_.get(); }
  [[nodiscard]] const ddsi_sertype* type() const noexcept { return type_; }
  [[nodiscard]] const std::string& type_name() const noexcept { return type_name_; }
  [[nodiscard]] const std::shared_ptr<const topics::DynamicType>& described() const noexcept { return described_; }
  [[nodiscard]] const MalformedSamples& malformed() const noexcept { return *malformed_; }

 private:
  std::string type_name_;
  std::shared_ptr<const topics::DynamicType> described_;
  std::shared_ptr<MalformedSamples> malformed_ = std::make_shared<MalformedSamples>();
  ddsi_sertype* type_;
  CycloneEntity topic_;
};

}  // namespace spindrift::tools::bridge
