// Logs for tests that have an end and no messages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include <spindrift/views/subgroup_logs.hpp>

namespace spindrift::views {

/// Logs of so many messages, all of which are durable here.
struct EndsOfLogs final : SubgroupLogs {
  LogPoint end(SubgroupId subgroup) const override { return {versions.at(subgroup.value()), {}}; }
  bool is_cut_short(SubgroupId subgroup) const override { return subgroup == cut_short; }
  std::uint64_t durable(SubgroupId subgroup) const override { return versions.at(subgroup.value()); }
  bool accepts() const override { return true; }
  void append(SubgroupId subgroup, std::span<const Delivery> batch) override { versions[subgroup.value()] += batch.size(); }
  void flush() override {}
  std::optional<Error> failure() const override { return std::nullopt; }
  std::unique_ptr<StateReader> read(SubgroupId, const LogPoint&, std::uint64_t) override { return nullptr; }
  std::unique_ptr<LogWriter> write(SubgroupId) override { return nullptr; }
  std::map<std::uint32_t, std::uint64_t> versions{{0, 5}};
  std::optional<SubgroupId> cut_short;
};

}  // namespace spindrift::views
