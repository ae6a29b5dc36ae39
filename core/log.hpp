// Structured logging: an event name and fields, a level per room. Threads: any. Off the data path: the level test is one
// load, nothing is formatted below the level.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::log {

enum class Level : std::uint8_t { trace, debug, info, warn, error, off };
enum class Room : std::uint8_t { core, fabric, kernel, sst, smc, views, group, dds, tools, audit };
inline constexpr std::size_t room_count = 10;

[[nodiscard]] std::string_view to_string(Room room) noexcept;

/// key=value of one event. Text is quoted when it needs it.
struct Field {
  std::string_view key;
  std::string value;

  Field(std::string_view name, std::string_view text) : key(name), value(text) {}
  Field(std::string_view name, const char* text) : key(name), value(text) {}
  Field(std::string_view name, const std::string& text) : key(name), value(text) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Field(std::string_view name, Number number) : key(name), value(std::to_string(number)) {}
  template <class Tag, class Representation>
  Field(std::string_view name, Strong<Tag, Representation> id) : Field(name, id.value()) {}
};

/// Sets where lines go and the level of every room. `file` empty: standard error. Errors: resource.
[[nodiscard]] Result<void> configure(Level level, const std::string& file);
/// Overrides one room's level.
void set_level(Room room, Level level) noexcept;
/// "warn", or "info,smc=trace,fabric=debug". Errors: bad_config naming the wrong word and the known ones.
[[nodiscard]] Result<void> set_levels(std::string_view specification);

[[nodiscard]] bool enabled(Room room, Level level) noexcept;
/// Writes one line: time, level, room, event, fields. Call through the helpers below.
void write_fields(Room room, Level level, std::string_view event, std::span<const Field> fields);
inline void write(Room room, Level level, std::string_view event, std::initializer_list<Field> fields) {
  write_fields(room, level, event, {fields.begin(), fields.size()});
}

#define SPINDRIFT_LOG_HELPER(name)                                                                      \
  inline void name(Room room, std::string_view event, std::initializer_list<Field> fields = {}) {       \
    if (enabled(room, Level::name)) write(room, Level::name, event, fields);                            \
  }
SPINDRIFT_LOG_HELPER(trace)
SPINDRIFT_LOG_HELPER(debug)
SPINDRIFT_LOG_HELPER(info)
SPINDRIFT_LOG_HELPER(warn)
SPINDRIFT_LOG_HELPER(error)
#undef SPINDRIFT_LOG_HELPER

}  // namespace spindrift::log
