// The types that participants have a topic with, and how samples of each are read here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {

/// Not thread-safe.
class TopicTypes {
 public:
  /// The participant's own.
  void open(const TypeSupport& type);
  /// One that some participant has, as it is described.
  void learn(const std::string& description);
  [[nodiscard]] const std::string& name() const { return type_->name; }
  /// Whether samples of the type of that identity are read here.
  [[nodiscard]] bool reads(std::uint64_t identity) const;
  /// Errors: bad_input.
  [[nodiscard]] Result<std::shared_ptr<const void>> decode(std::uint64_t identity, std::span<const std::byte> bytes) const;

 private:
  [[nodiscard]] bool is_longer(std::uint64_t identity) const;

  const TypeSupport* type_ = nullptr;
  std::vector<std::uint64_t> shorter_;           // by how many of the own fields they have
  std::map<std::uint64_t, std::string> others_;  // by their identities
};

}  // namespace spindrift::topics
