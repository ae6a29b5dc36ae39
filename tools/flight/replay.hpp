// The demo's parent: starts one process per member, kills one in the middle and starts it again, follows them by events, and
// collects what they report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/view.hpp>

#include "exit_code.hpp"
#include "flight/member.hpp"
#include "flight/tally.hpp"
#include "ulog.hpp"

namespace spindrift::tools {

struct ReplayOptions {
  std::string config;                 ///< path; every member reads it
  std::vector<std::string> settings;  ///< --set, passed on
  std::string recording;              ///< path; every member reads it
  double speed = 0;                   ///< of the flight's own pace; 0: as fast as possible
  std::uint32_t rounds = 1;
  Duration patience{};           ///< after which the members are killed
  bool quiet = false;            ///< no progress
  std::optional<NodeId> victim{};  ///< is killed when it has sent half its share, and started again
  std::optional<NodeId> page{};  ///< a process of that node shows the flight in browsers,
  FileDescriptor page_socket{};   ///< who connect to this descriptor
};

/// How it ended at one member: with a result, or with the reason why there is none.
struct MemberOutcome {
  NodeId node;
  std::optional<TallyResult> result;
  std::string failure;
  ExitCode code = ExitCode::success;
  bool restarted = false;  ///< killed on the way; the result is that of its second life
};

/// By rank. Returns when every process has ended. Throws resource.
[[nodiscard]] std::vector<MemberOutcome> replay(ReplayOptions options, const ulog::Recording& recording,
                                                const View& view);

}  // namespace spindrift::tools
