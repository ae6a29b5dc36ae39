// A group of this host as Prometheus reads it: its text exposition format, version 0.0.4.
#pragma once

#include <string>
#include <string_view>

#include "group_counters.hpp"
#include "group_report.hpp"

namespace spindrift::tools {

inline constexpr char prometheus_content_type[] = "text/plain; version=0.0.4; charset=utf-8";

/// Every counter, and what the status files say, with HELP and TYPE; each metric's samples by node. A counter that this
/// version does not know is a sample of `spindrift_other`.
[[nodiscard]] std::string prometheus_text(std::string_view group, const GroupReport& report, const GroupCounters& counters);

}  // namespace spindrift::tools
