// The program `spindrift-bridge`, which `spindrift bridge` becomes: it alone starts with Cyclone DDS.
#include <algorithm>
#include <deque>
#include <set>

#include <CLI/CLI.hpp>

#include <spindrift/views/versions.hpp>

#include "bridge/mirrored_topic.hpp"
#include "exit_code.hpp"
#include "run_program.hpp"

namespace spindrift::tools {
namespace {

using Clock = TopicSession::Clock;

/// Endings of mirrors are looked for so often.
constexpr std::chrono::seconds look_again_after(1);
/// Samples are changes as well, and a look takes longer than they are apart.
constexpr std::chrono::milliseconds looks_apart(20);

/// The topics that are mirrored, on one thread.
class TopicBridge {
 public:
  TopicBridge(TopicSession& session, const BridgeOptions& options)
      : session_(session), side_(options.cyclone_domain, {options.topics.begin(), options.topics.end()}) {
    for (const std::string& name : std::set<std::string>(options.topics.begin(), options.topics.end())) {
      topics_.emplace_back(name, session.participant(), side_, options);
      names_.push_back(name);
    }
  }
  /// Until a signal.
  void run() {
    for (;;) {
      const auto began = Clock::now();
      const std::uint64_t seen = topics::DynamicParticipant::changes();
      session_.require_going_on();
      if (session_.stopped()) return;
      side_.look();
      const auto announced = session_.participant().topics();
      for (std::size_t at = 0; at < topics_.size(); ++at) {
        const auto ours = std::find_if(announced.begin(), announced.end(),
                                       [&](const topics::AnnouncedTopic& each) { return each.name == names_[at]; });
        topics_[at].look(ours == announced.end() ? nullptr : &*ours);
      }
      topics::DynamicParticipant::await_change(seen, Clock::now() + look_again_after);
      for (const auto until = began + looks_apart; Clock::now() < until && !session_.stopped();)
        topics::DynamicParticipant::await_change(topics::DynamicParticipant::changes(), until);
    }
  }
  void finish() {
    for (bridge::MirroredTopic& each : topics_) each.finish();
  }
  /// Says what was passed on before that which ends it, unless nobody reads that.
  void finish_if_possible() noexcept {
    try {
      finish();
    } catch (const std::exception&) {  // what ended it is said
    }
  }

 private:
  TopicSession& session_;
  bridge::CycloneSide side_;
  std::deque<bridge::MirroredTopic> topics_;
  std::vector<std::string> names_;
};

int run_bridge(const BridgeOptions& options) {
  TopicSession session(options);
  TopicBridge bridge(session, options);
  try {
    bridge.run();
  } catch (const Exception&) {
    bridge.finish_if_possible();
    throw;
  }
  bridge.finish();
  return number(ExitCode::success);
}

}  // namespace
}  // namespace spindrift::tools

int main(int argument_count, char** arguments) {
  using namespace spindrift;
  CLI::App app("Spindrift's bridge to Cyclone DDS; `spindrift bridge` runs it.", "spindrift");
  app.set_version_flag("--version",
                       "spindrift " SPINDRIFT_VERSION ", protocol " + views::to_string(views::spoken_versions()));
  app.require_subcommand(1);
  tools::Work chosen;
  tools::add_bridge_command(app, chosen, tools::run_bridge);
  return tools::run_program(app, chosen, argument_count, arguments);
}
