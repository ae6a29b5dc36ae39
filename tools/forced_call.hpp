// The course of a command that may lose something for good: it asks a member what is lost, says it, has that confirmed, has
// the member do it, and prints what came of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/roster_messages.hpp>

#include "roster_call.hpp"

namespace spindrift::tools {

/// Options of a call for another roster, with --force and --yes.
struct ForcedCallOptions : RosterCallOptions {
  bool force = false;
  bool yes = false;
};
/// Those two; `force`: what that flag does.
void add_force_options(CLI::App& command, ForcedCallOptions& options, const std::string& force);

/// The words for one, and the object that it prints for programs.
struct ForcedCallWords {
  std::string question;
  std::string whether;  ///< where nobody can be asked: "nobody is here to be asked whether " it
  std::string known;    ///< there --yes is to be given once one knows it
  std::string done;     ///< a line, as `undone`
  std::string undone;
  const char* outcome = "";  ///< the object's field that says whether it was done
  nlohmann::json object;     ///< its other fields, and its version
};

class ForcedCall {
 public:
  /// The call, which need not say a patience: without force it changes nothing.
  using Maker = std::function<group::RosterCall(bool force)>;

  /// To the member of that node, whose files are in this directory. It and the options outlive this object.
  ForcedCall(const ForcedCallOptions& options, const GuardedDirectory& directory, NodeId told, Maker make);

  /// The loss, as the member tells it, if that is all that speaks against the call. Nothing: the member says that all is
  /// done. Throws what else it says; the loss, too, without --force.
  [[nodiscard]] std::optional<Error> loss();
  /// Says the loss on standard error, if there is one to be said, asks unless --yes, and has it done. The code of the
  /// command. Throws what the member says against it.
  [[nodiscard]] int run(const ForcedCallWords& words, const std::optional<Error>& loss = std::nullopt);
  /// Prints that all is done. The code of the command.
  [[nodiscard]] int finish(const ForcedCallWords& words, bool done) const;

 private:
  [[nodiscard]] Result<Roster> tell(bool force);

  const ForcedCallOptions& options_;
  const GuardedDirectory& directory_;
  const NodeId told_;
  const Maker make_;
  Duration left_;  // of --timeout, which both calls share
};

}  // namespace spindrift::tools
