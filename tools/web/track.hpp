// The places where a vehicle was, in meters north and east of where it began: by its local position if that says that it is
// good, else by its satellite receiver.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <mutex>
#include <numbers>
#include <optional>

#include <nlohmann/json.hpp>

namespace spindrift::tools {

/// Any thread.
class Track {
 public:
  using Json = nlohmann::json;
  static constexpr std::size_t points_max = 1200;

  /// Fields of a vehicle_local_position, of which some may be missing. The place as the page is told of it; null: none.
  Json add_local(const Json& sample) {
    const std::lock_guard lock(mutex_);
    local_ = sample.value("xy_valid", false) && is_number(sample, "x") && is_number(sample, "y");
    if (!local_) return nullptr;
    const double speed = is_number(sample, "vx") && is_number(sample, "vy")
                             ? std::hypot(sample["vx"].get<double>(), sample["vy"].get<double>())
                             : 0;
    return place({sample["x"], sample["y"]}, sample.value("timestamp", 0.0), speed, "local position");
  }
  /// The same of a vehicle_gps_position.
  Json add_gps(const Json& sample) {
    constexpr int fix_of_a_place = 2;
    const std::lock_guard lock(mutex_);
    if (local_ || !is_number(sample, "lat") || !is_number(sample, "lon") || sample.value("fix_type", 0) < fix_of_a_place)
      return nullptr;
    constexpr double radians = std::numbers::pi / 180 * 1e-7;  // its unit is 1e-7 degrees
    const std::array<double, 2> at{sample["lat"].get<double>() * radians, sample["lon"].get<double>() * radians};
    if (!origin_) origin_ = at;
    constexpr double earth_m = 6'371'000;
    const double north = (at[0] - (*origin_)[0]) * earth_m;
    const double east = (at[1] - (*origin_)[1]) * earth_m * std::cos((*origin_)[0]);
    const double speed = is_number(sample, "vel_m_s") ? sample["vel_m_s"].get<double>() : 0;
    return place({north, east}, sample.value("timestamp", 0.0), speed, "satellite receiver");
  }
  /// [[north, east, whether the way from the point before was flown], …]
  [[nodiscard]] Json json() const {
    const std::lock_guard lock(mutex_);
    Json points = Json::array();
    for (const Point& each : points_) points.push_back({each.at[0], each.at[1], each.joined});
    return points;
  }

 private:
  struct Point {
    std::array<double, 2> at{};
    double time_us = 0;
    bool joined = false;
  };
  static bool is_number(const Json& sample, const char* name) { return sample.contains(name) && sample[name].is_number(); }

  Json place(std::array<double, 2> at, double time_us, double speed, const char* source) {
    constexpr double least_us = 90'000;  // between points
    constexpr double doubt_m = 1;
    Point point{.at = at, .time_us = time_us};
    bool kept = true;
    if (!points_.empty()) {
      const Point& last = points_.back();
      const double passed_us = time_us - last.time_us;
      const double way = std::hypot(at[0] - last.at[0], at[1] - last.at[1]);
      // A flight that begins anew is suddenly elsewhere.
      point.joined = passed_us >= 0 && way < 3 * speed * passed_us * 1e-6 + doubt_m;
      kept = !point.joined || passed_us >= least_us;
    }
    if (kept) points_.push_back(point);
    if (points_.size() > points_max) points_.pop_front();
    return {{"north", at[0]},  {"east", at[1]},  {"joined", point.joined},
            {"kept", kept},    {"speed", speed}, {"source", source}};
  }

  mutable std::mutex mutex_;
  std::deque<Point> points_;
  std::optional<std::array<double, 2>> origin_;  // of what satellites say
  bool local_ = false;
};

}  // namespace spindrift::tools
