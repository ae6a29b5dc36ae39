// Sentences for callers.
#include <spindrift/group/replica_refusal.hpp>

#include <spindrift/core/check.hpp>

namespace spindrift::replicated {

Error refusal_error(AnswerOutcome outcome, NodeId node, const std::string& subgroup) {
  const std::string who = "node " + std::to_string(node.value());
  switch (outcome) {
    case AnswerOutcome::no_object:
      return Error(ErrorKind::refused, who + " has no replicated object in subgroup " + subgroup)
          .fix("let the program there call replicated, or query again when it has");
    case AnswerOutcome::outside:
      return Error(ErrorKind::bad_argument, who + " is not in subgroup " + subgroup + " now")
          .fix("query one of its members, which description() of the subgroup lists");
    case AnswerOutcome::not_loaded:
      return Error(ErrorKind::refused, who + " does not have the state of subgroup " + subgroup + " yet")
          .fix("query another member, or again when it is loaded");
    case AnswerOutcome::other_methods:
      return Error(ErrorKind::refused, who + " lists other Methods for the replicated object of subgroup " + subgroup)
          .fix("run the same program at all nodes");
    case AnswerOutcome::too_many:
      return Error(ErrorKind::resource, who + " keeps no more queries of subgroup " + subgroup +
                                            ": it cannot send the answers as fast as they are asked for")
          .fix("wait for the answers of earlier queries first");
    case AnswerOutcome::returned:
    case AnswerOutcome::threw: break;
  }
  CHECK(false);
}

}  // namespace spindrift::replicated
