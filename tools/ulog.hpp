// Reads ULog flight recordings (PX4's log format, version 0 and 1): which topics were recorded, and their samples in the
// order of the file. Every byte is checked before it is used; a broken file yields what was valid before the damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

#include "ulog_format.hpp"

namespace spindrift::ulog {

/// A uORB topic with at least one sample. Its instances (two batteries, three accelerometers) are told apart by the sample.
struct Topic {
  std::string name;
  std::uint64_t samples = 0;    ///< of all instances
  std::uint64_t bytes = 0;      ///< sum of Sample::fields
  std::uint64_t bytes_max = 0;  ///< largest Sample::fields
};

struct Sample {
  std::uint64_t timestamp_us = 0;  ///< as the vehicle said; see tools/flight/schedule.hpp before relying on it
  std::uint16_t topic = 0;         ///< index into Recording::topics()
  std::uint8_t instance = 0;
  std::span<const std::byte> fields;  ///< what follows the timestamp, as recorded
};

/// A recording that was read. It owns the file's bytes, into which its samples point.
class Recording {
 public:
  /// Reads the bytes of a file called `name`. Errors: bad_input if not even the header is ULog's. Damage further on is
  /// no error but `damage()`.
  [[nodiscard]] static Result<Recording> parse(std::vector<std::byte> bytes, std::string name);
  /// Reads a regular file. Errors: as parse; resource.
  [[nodiscard]] static Result<Recording> read(const std::string& path);

  Recording(Recording&&) noexcept = default;
  Recording& operator=(Recording&&) noexcept = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// In the order of their first samples.
  [[nodiscard]] const std::vector<Topic>& topics() const noexcept { return topics_; }
  /// In the order of the file.
  [[nodiscard]] const std::vector<Sample>& samples() const noexcept { return samples_; }
  /// The definitions of its topics' samples: those of all topics() are sound.
  [[nodiscard]] const FormatTable& formats() const noexcept { return formats_; }
  /// The samples so many times, one round behind the other, with timestamps that are `period_us` later each time.
  void repeat(std::uint32_t rounds, std::uint64_t period_us);
  /// When recording began.
  [[nodiscard]] std::uint64_t start_us() const noexcept { return start_us_; }
  /// Set: the file is broken from some byte on, as the error says; the samples are those before it.
  [[nodiscard]] const std::optional<Error>& damage() const noexcept { return damage_; }

 private:
  friend class Parser;
  Recording(std::vector<std::byte> bytes, std::string name) : name_(std::move(name)), bytes_(std::move(bytes)) {}

  std::string name_;
  std::vector<std::byte> bytes_;
  FormatTable formats_;
  std::vector<Topic> topics_;
  std::vector<Sample> samples_;
  std::uint64_t start_us_ = 0;
  std::optional<Error> damage_;
};

}  // namespace spindrift::ulog
