// Judging and printing a replay.
#include "flight/verdict.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/ids_text.hpp>

#include "json_output.hpp"

namespace spindrift::tools {
namespace {

bool all_true(const std::vector<bool>& values) { return std::find(values.begin(), values.end(), false) == values.end(); }

double rate_of(const TallyResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.messages) / result.seconds : 0;
}

/// The digest of the sequences of all subgroups, so that one look compares two members.
Digest digest_of_all(const TallyResult& result) { return digest_of(std::as_bytes(std::span(result.sequences))); }

/// Messages delivered by a subgroup: the sum of its topics.
std::uint64_t recorded_in(const FlightReport& report, SubgroupId subgroup) {
  std::uint64_t sum = 0;
  for (std::size_t t = 0; t < report.plan.size(); ++t) {
    if (report.plan[t].subgroup == subgroup) sum += report.recording.topics()[t].samples;
  }
  return sum;
}

/// The last sender of a topic, by any member's result: they agree, or the replay has a fault.
std::uint32_t last_sender(const FlightReport& report, std::size_t topic) {
  for (const MemberOutcome& outcome : report.outcomes) {
    if (outcome.result) return outcome.result->senders[topic];
  }
  return report.plan[topic].sender.value();
}

/// "2", or "2, 0" where 0 took over.
std::string sender_text(const FlightReport& report, std::size_t topic) {
  const std::uint32_t first = report.plan[topic].sender.value();
  const std::uint32_t last = last_sender(report, topic);
  return first == last ? std::to_string(first) : fmt::format("{}, {}", first, last);
}

/// One view as all members saw it.
struct ViewSummary {
  ViewEntry entry;                                          ///< of the first member that has it
  std::vector<std::pair<NodeId, std::uint64_t>> delivered;  ///< by member
  std::vector<std::pair<NodeId, double>> gaps_ms;           ///< by member
};

std::map<std::uint64_t, ViewSummary> views_of(const FlightReport& report) {
  std::map<std::uint64_t, ViewSummary> views;
  for (const MemberOutcome& outcome : report.outcomes) {
    if (!outcome.result) continue;
    for (const ViewEntry& entry : outcome.result->views) {
      const bool own_first = &entry == &outcome.result->views.front();
      auto& summary = views.try_emplace(entry.view, ViewSummary{entry, {}, {}}).first->second;
      if (!own_first) summary.entry = entry;  // a member that was there before knows who joined
      summary.delivered.emplace_back(outcome.node, entry.delivered);
      if (entry.gap_ms) summary.gaps_ms.emplace_back(outcome.node, *entry.gap_ms);
    }
  }
  // Only the newcomer tells of a view about which the others had no more to say, and it does not know who came with it.
  const ViewEntry* before = nullptr;
  for (auto& [id, summary] : views) {
    std::vector<std::uint32_t>& joined = summary.entry.joined;
    const auto was_there = [&](std::uint32_t node) {
      return std::find(before->members.begin(), before->members.end(), node) != before->members.end();
    };
    if (before != nullptr && summary.delivered.size() == 1) std::erase_if(joined = summary.entry.members, was_there);
    before = &summary.entry;
  }
  return views;
}

void print_views(const FlightReport& report) {
  for (const auto& [id, summary] : views_of(report)) {
    std::string line = fmt::format("view {}: members {}", id, listed(summary.entry.members));
    if (id > 0 && !summary.entry.joined.empty()) line += "; joined " + listed(summary.entry.joined);
    if (!summary.entry.left.empty()) line += "; left " + listed(summary.entry.left);
    for (const std::string& failed : summary.entry.failed) line += "; failed " + failed;
    line += "; delivered";
    for (const auto& [node, count] : summary.delivered) line += fmt::format(" {} at {},", count, node);
    line.pop_back();
    if (!summary.gaps_ms.empty()) line += "; gap";
    for (const auto& [node, gap] : summary.gaps_ms) line += fmt::format(" {:.1f} ms at {},", gap, node);
    if (!summary.gaps_ms.empty()) line.pop_back();
    fmt::print("{}\n", line);
  }
  fmt::print("\n");
}

nlohmann::json views_json(const FlightReport& report) {
  auto list = nlohmann::json::array();
  for (const auto& [id, summary] : views_of(report)) {
    nlohmann::json view{{"view", id},
                        {"members", summary.entry.members},
                        {"joined", summary.entry.joined},
                        {"left", summary.entry.left},
                        {"failed", summary.entry.failed},
                        {"delivered", nlohmann::json::object()},
                        {"gap_ms", nlohmann::json::object()}};
    for (const auto& [node, count] : summary.delivered) view["delivered"][std::to_string(node.value())] = count;
    for (const auto& [node, gap] : summary.gaps_ms) view["gap_ms"][std::to_string(node.value())] = gap;
    list.push_back(std::move(view));
  }
  return list;
}

void print_topics(const FlightReport& report) {
  std::string heading = fmt::format("{:<36} {:<12} {:>6} {:>9}", "topic", "subgroup", "sender", "recorded");
  for (const MemberOutcome& outcome : report.outcomes)
    heading += fmt::format(" {:>9}", fmt::format("member {}", outcome.node));
  fmt::print("\n{}\n", heading);
  for (std::size_t t = 0; t < report.plan.size(); ++t) {
    const ulog::Topic& topic = report.recording.topics()[t];
    fmt::print("{:<36} {:<12} {:>6} {:>9}", topic.name, report.view.subgroup(report.plan[t].subgroup).name,
               sender_text(report, t), topic.samples);
    for (const MemberOutcome& outcome : report.outcomes) {
      fmt::print(" {:>9}", outcome.result ? std::to_string(outcome.result->counts[t]) : "-");
    }
    fmt::print("  {}\n", report.verdict.topic_equal[t] ? "ok" : "DIFFERS");
  }
}

void print_sequences(const FlightReport& report) {
  fmt::print("\n{:<12} {:>9}  digest of the delivered sequence\n", "subgroup", "messages");
  for (std::uint32_t s = 0; s < report.view.subgroups.size(); ++s) {
    if (!may_carry(report.view.subgroups[s])) continue;
    const std::string& name = report.view.subgroups[s].name;
    const std::uint64_t messages = recorded_in(report, SubgroupId(s));
    if (report.verdict.sequence_equal[s]) {
      fmt::print("{:<12} {:>9}  {}  equal at all members\n", name, messages,
                 report.outcomes.front().result->sequences[s].to_string());
      continue;
    }
    for (const MemberOutcome& outcome : report.outcomes) {
      fmt::print("{:<12} {:>9}  {}  at member {}  DIFFERS\n", name, messages,
                 outcome.result ? outcome.result->sequences[s].to_string() : "none", outcome.node);
    }
  }
  fmt::print("\n");
}

void print_members(const FlightReport& report) {
  for (const MemberOutcome& outcome : report.outcomes) {
    if (!outcome.result) continue;
    const TallyResult& result = *outcome.result;
    if (outcome.restarted) {
      fmt::print("member {}: killed and started again: got {} messages as state, delivered {}; digest {}\n", outcome.node,
                 result.messages - result.delivered, result.delivered, digest_of_all(result).to_string());
      continue;
    }
    fmt::print("member {}: delivered {} messages, {:.1f} MB in {:.3f} s: {:.0f} messages/s; digest {}\n", outcome.node,
               result.messages, static_cast<double>(result.bytes) * 1e-6, result.seconds, rate_of(result),
               digest_of_all(result).to_string());
  }
  std::fflush(stdout);
  for (const MemberOutcome& outcome : report.outcomes) {
    if (!outcome.result) fmt::print(stderr, "member {}: FAILED: {}\n", outcome.node, outcome.failure);
  }
}

nlohmann::json member_json(const FlightReport& report, const MemberOutcome& outcome) {
  nlohmann::json json{{"node", outcome.node}, {"ok", outcome.result.has_value()}};
  if (!outcome.result) {
    json["failure"] = outcome.failure;
    return json;
  }
  json["messages"] = outcome.result->messages;
  json["bytes"] = outcome.result->bytes;
  json["delivered"] = outcome.result->delivered;
  json["restarted"] = outcome.restarted;
  json["seconds"] = outcome.result->seconds;
  json["messages_per_second"] = rate_of(*outcome.result);
  json["digest"] = digest_of_all(*outcome.result).to_string();
  json["digests"] = nlohmann::json::object();
  for (std::size_t s = 0; s < report.view.subgroups.size(); ++s) {
    if (!may_carry(report.view.subgroups[s])) continue;
    json["digests"][report.view.subgroups[s].name] = outcome.result->sequences[s].to_string();
  }
  return json;
}

nlohmann::json topic_json(const FlightReport& report, std::size_t t) {
  const ulog::Topic& topic = report.recording.topics()[t];
  auto delivered = nlohmann::json::array();
  for (const MemberOutcome& outcome : report.outcomes) {
    delivered.push_back(outcome.result ? nlohmann::json(outcome.result->counts[t]) : nlohmann::json());
  }
  return {{"name", topic.name},
          {"subgroup", report.view.subgroup(report.plan[t].subgroup).name},
          {"sender", report.plan[t].sender.value()},
          {"last_sender", last_sender(report, t)},
          {"recorded", topic.samples},
          {"delivered", delivered},
          {"ok", static_cast<bool>(report.verdict.topic_equal[t])}};
}

}  // namespace

Verdict judge(const FlightParts& parts, const std::vector<MemberOutcome>& outcomes) {
  const ulog::Recording& recording = parts.recording;
  const View& view = parts.view;
  Verdict verdict{.topic_equal = std::vector<bool>(recording.topics().size(), true),
                  .sequence_equal = std::vector<bool>(view.subgroups.size(), true)};
  const std::vector<Digest> contents = recorded_contents(recording, parts.flight);
  for (const MemberOutcome& outcome : outcomes) {
    if (!outcome.result) verdict.members_finished = false;
    // The first reason counts, but "a member was lost" is what others say of the one that has the real reason.
    if (!outcome.result && (verdict.code == ExitCode::success || verdict.code == ExitCode::member_lost))
      verdict.code = outcome.code;
    for (std::size_t t = 0; t < contents.size(); ++t) {
      if (!outcome.result || outcome.result->counts[t] != recording.topics()[t].samples ||
          outcome.result->contents[t] != contents[t]) {
        verdict.topic_equal[t] = false;
      }
    }
    for (std::size_t s = 0; s < view.subgroups.size(); ++s) {
      const auto& first = outcomes.front().result;
      if (!outcome.result || !first || outcome.result->sequences[s] != first->sequences[s])
        verdict.sequence_equal[s] = false;
    }
  }
  const bool equal = all_true(verdict.topic_equal) && all_true(verdict.sequence_equal);
  const bool good = verdict.members_finished && equal && !recording.damage();
  if (!good && verdict.code == ExitCode::success) verdict.code = ExitCode::failure;
  return verdict;
}

void print_text(const FlightReport& report) {
  const bool finished = report.verdict.members_finished;
  if (finished) print_topics(report);
  if (finished) print_sequences(report);
  print_views(report);
  print_members(report);
  const bool equal = all_true(report.verdict.topic_equal) && all_true(report.verdict.sequence_equal);
  if (equal) {
    fmt::print("{}: {} topics, {} samples; every member delivered the same sequence, and exactly what the file holds\n",
               report.recording.damage() ? "up to the damage" : "ok", report.recording.topics().size(),
               report.recording.samples().size());
  }
  std::fflush(stdout);
  if (!equal) fmt::print(stderr, "FAILED: {}\n", finished ? "what members delivered differs" : "not all members finished");
  if (report.recording.damage())
    fmt::print(stderr, "FAILED: the recording is broken: {}\n", report.recording.damage()->to_string());
}

void print_json(const FlightReport& report) {
  constexpr int version = 1;
  const auto& damage = report.recording.damage();
  nlohmann::json json{{"recording", report.recording.name()},
                      {"config", report.config},
                      {"samples", report.recording.samples().size()},
                      {"damage", damage ? json_of(*damage) : nlohmann::json()},
                      {"ok", report.verdict.ok()},
                      {"exit_code", number(report.verdict.code)}};
  json["members"] = nlohmann::json::array();
  for (const MemberOutcome& outcome : report.outcomes) json["members"].push_back(member_json(report, outcome));
  json["topics"] = nlohmann::json::array();
  for (std::size_t t = 0; t < report.plan.size(); ++t) json["topics"].push_back(topic_json(report, t));
  json["subgroups"] = nlohmann::json::array();
  for (std::uint32_t s = 0; s < report.view.subgroups.size(); ++s) {
    if (!may_carry(report.view.subgroups[s])) continue;
    json["subgroups"].push_back({{"name", report.view.subgroups[s].name},
                                 {"messages", recorded_in(report, SubgroupId(s))},
                                 {"equal", static_cast<bool>(report.verdict.sequence_equal[s])}});
  }
  json["views"] = views_json(report);
  print_document(versioned(version, std::move(json)));
}

}  // namespace spindrift::tools
