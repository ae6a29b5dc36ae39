// The names of the metrics, and their samples.
#include "prometheus.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>

#include <fmt/format.h>

namespace spindrift::tools {
namespace {

enum class MetricType : std::uint8_t { counter, gauge, histogram, untyped };
/// The counter's; the metric's is the second, or 1.
enum class Unit : std::uint8_t { as_counted, microseconds, milliseconds, percent };

struct Metric {
  std::string_view counter;  ///< the name in the file of counters, without its subgroup; empty: from the status files
  std::string_view name;
  std::string_view help;
  MetricType type = MetricType::counter;
  Unit unit = Unit::as_counted;
};

constexpr std::array of_subgroups{
    Metric{"sent", "spindrift_subgroup_sent_messages_total", "Messages that this node sent."},
    Metric{"sent_bytes", "spindrift_subgroup_sent_bytes_total",
           "Bytes that this node put into its rings: messages, their heads and padding."},
    Metric{"ring_used_percent", "spindrift_subgroup_ring_used_ratio",
           "How full the fullest is of what bounds this node's sends: window, ring, ring for large messages.",
           MetricType::gauge, Unit::percent},
    Metric{"delivered", "spindrift_subgroup_delivered_messages_total", "Messages that this node delivered."},
    Metric{"send_wait_ms", "spindrift_subgroup_send_wait_seconds_total",
           "Time in which sends of this node waited for space.", MetricType::counter, Unit::milliseconds},
    Metric{"delivered_bytes", "spindrift_subgroup_delivered_bytes_total", "Bytes of the messages that this node delivered."},
    Metric{"delivered_nulls", "spindrift_subgroup_delivered_nulls_total", "Turns of silent senders that were passed over."},
    Metric{"null_runs", "spindrift_subgroup_null_runs_total", "Times that this node gave up turns for want of messages."},
    Metric{"send_batches", "spindrift_subgroup_send_batches_total", "Batches in which this node sent."},
    Metric{"receive_batches", "spindrift_subgroup_receive_batches_total", "Batches in which this node received."},
    Metric{"delivery_batches", "spindrift_subgroup_delivery_batches_total", "Batches in which this node delivered."},
    Metric{"discarded", "spindrift_subgroup_discarded_messages_total",
           "Messages of a created subgroup that this node delivered without a handler."},
    Metric{"history_messages", "spindrift_subgroup_history_messages",
           "Messages of the subgroup's history that this node keeps.", MetricType::gauge},
    Metric{"history_bytes", "spindrift_subgroup_history_bytes", "Bytes of the subgroup's history that this node keeps.",
           MetricType::gauge},
    Metric{"large_sent", "spindrift_subgroup_large_sent_messages_total", "Large messages that this node sent."},
    Metric{"large_handed_on", "spindrift_subgroup_large_handed_on_messages_total",
           "Large messages of others that this node handed on."},
};
constexpr std::array histograms_of_subgroups{
    Metric{"own_latency_us", "spindrift_subgroup_own_latency_seconds",
           "From the pass that finds a message of this node committed to its delivery here; samples.",
           MetricType::histogram, Unit::microseconds},
    Metric{"stable_latency_us", "spindrift_subgroup_stable_latency_seconds",
           "From the pass that finds a message of this node committed until every member has delivered it; samples.",
           MetricType::histogram, Unit::microseconds},
    Metric{"send_batch", "spindrift_subgroup_send_batch_messages", "Messages that this node published at once.",
           MetricType::histogram},
    Metric{"delivery_batch", "spindrift_subgroup_delivery_batch_messages", "Messages in one call of this node's handler.",
           MetricType::histogram},
};
constexpr std::array of_nodes{
    Metric{"views.installed", "spindrift_views_installed_total", "Views that this process has been in."},
    Metric{"status.unwritten_since_ms", "spindrift_status_unwritten_since_seconds",
           "Since when the node's status could not be written, in seconds since 1970; 0: it is as it should be.",
           MetricType::gauge, Unit::milliseconds},
    Metric{"member.stranded_since_ms", "spindrift_member_stranded_since_seconds",
           "Since when the member keeps its state and waits without a majority, in seconds since 1970; 0: it does not.",
           MetricType::gauge, Unit::milliseconds},
    Metric{"journal.full_since_ms", "spindrift_journal_full_since_seconds",
           "Since when the disk of the node's journal is full, in seconds since 1970; 0: it is not.", MetricType::gauge,
           Unit::milliseconds},
    Metric{"poller.sleeps", "spindrift_poller_sleeps_total", "Times that the poller slept."},
    Metric{"poller.slow_upcalls", "spindrift_poller_slow_upcalls_total", "Times that a handler took too long."},
    Metric{"fabric.shm.refused_connections", "spindrift_shm_refused_connections_total",
           "Connections over shared memory that broke the rules."},
    Metric{"vq.links_cached", "spindrift_vq_links_cached_total", "Links that began with what was remembered of the peer."},
    Metric{"vq.links_looked_up", "spindrift_vq_links_looked_up_total", "Links that began with a lookup."},
    Metric{"vq.links_by_address", "spindrift_vq_links_by_address_total", "Links that began at the peer's address."},
    Metric{"vq.links_called_by", "spindrift_vq_links_called_by_total", "Links that began with the peer's call."},
    Metric{"vq.meta_reads", "spindrift_vq_meta_reads_total", "Reads of the tables of meta servers."},
    Metric{"vq.meta_faults", "spindrift_vq_meta_faults_total", "Meta servers that told what cannot be."},
    Metric{"vq.meta_stale", "spindrift_vq_meta_stale_total", "Records of an earlier start of a node."},
    Metric{"vq.meta_silences", "spindrift_vq_meta_silences_total", "Answers of meta servers that came too late."},
    Metric{"vq.meta_table_nodes", "spindrift_vq_meta_table_nodes", "Nodes in the own meta table now.", MetricType::gauge},
    Metric{"vq.pairs", "spindrift_vq_pairs", "Virtual queue pairs that are open now.", MetricType::gauge},
    Metric{"vq.connected_made", "spindrift_vq_connected_made_total", "Connected queue pairs that were made to busy peers."},
    Metric{"vq.pairs_moved", "spindrift_vq_pairs_moved_total", "Moves of a pair to a connected queue pair, or back."},
    Metric{"vq.breaks", "spindrift_vq_breaks_total", "Shared and connected queue pairs that broke."},
    Metric{"vq.replays", "spindrift_vq_replays_total", "Requests that were posted again after a break."},
    Metric{"vq.rejected_messages", "spindrift_vq_rejected_messages_total", "Messages that were none of a correct peer."},
    Metric{"vq.fenced_bytes", "spindrift_vq_fenced_bytes_total",
           "Address space that is used no more, because a peer that was shut out may write there."},
};
constexpr std::string_view waits_for_node = "sends.wait_ms_for.";
constexpr Metric wait_for_node{"", "spindrift_send_wait_for_node_seconds_total",
                               "Time in which sends of this node waited, and that one had taken least.",
                               MetricType::counter, Unit::milliseconds};
constexpr std::string_view lag_messages_of = "lag_messages_of_";
constexpr Metric lag_messages{"", "spindrift_subgroup_lag_messages",
                              "Messages of this node, nulls included, that the other one has still to deliver.",
                              MetricType::gauge};
constexpr std::string_view lag_bytes_of = "lag_bytes_of_";
constexpr Metric lag_bytes{"", "spindrift_subgroup_lag_bytes",
                           "Bytes of this node's rings that hold messages which the other one has still to deliver.",
                           MetricType::gauge};
constexpr Metric other{"", "spindrift_other", "A counter that this version does not know.", MetricType::untyped};
constexpr Metric unreadable{"", "spindrift_unreadable_files",
                            "Files of nodes that could not be read; spindrift counters says why.", MetricType::gauge};
constexpr Metric running{"", "spindrift_node_running",
                         "1 if the node's process runs and has not ended its membership, else 0.", MetricType::gauge};
constexpr Metric number_of_view{"", "spindrift_node_view", "Number of the view that the node is in.", MetricType::gauge};
constexpr Metric members{"", "spindrift_node_view_members", "Members of the view that the node is in.", MetricType::gauge};
constexpr Metric adequate{"", "spindrift_subgroup_adequate",
                          "1 if the view gives the subgroup its minimum of members, else 0.", MetricType::gauge};
constexpr Metric blocked{"", "spindrift_subgroup_sends_blocked",
                         "1 if sends of this node wait, else 0; spindrift group why says for what.", MetricType::gauge};

std::string_view name_of(MetricType type) {
  switch (type) {
    case MetricType::counter: return "counter";
    case MetricType::gauge: return "gauge";
    case MetricType::histogram: return "histogram";
    case MetricType::untyped: return "untyped";
  }
  return "untyped";
}

/// A label's value as the format has it: names of subgroups are an application's own.
std::string quoted(std::string_view value) {
  std::string result = "\"";
  for (const char c : value) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// The value in the metric's unit, exactly.
std::string in_unit(Unit unit, std::uint64_t value) {
  switch (unit) {
    case Unit::as_counted: break;
    case Unit::microseconds: return fmt::format("{}.{:06}", value / 1'000'000, value % 1'000'000);
    case Unit::milliseconds: return fmt::format("{}.{:03}", value / 1000, value % 1000);
    case Unit::percent: return fmt::format("{}.{:02}", value / 100, value % 100);
  }
  return std::to_string(value);
}

const Metric* find_metric(std::span<const Metric> among, std::string_view counter) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const Metric& each) { return each.counter == counter; });
  return found == among.end() ? nullptr : &*found;
}

/// The samples by metric: those of one metric have to stand together, and come by node.
class Exposition {
 public:
  explicit Exposition(std::string_view group) : group_(quoted(group)) {}

  /// `more`: further labels, each with a comma before it.
  void add(const Metric& metric, std::uint64_t value, const std::string& more = {}) {
    sample(metric, "", more, in_unit(metric.unit, value));
  }
  void add(const Metric& metric, const HistogramValues& values, const std::string& more) {
    std::uint64_t count = 0;
    for (const HistogramValues::Bucket& bucket : values.buckets) {
      count += bucket.count;
      const std::string labels = fmt::format("{},le=\"{}\"", more, in_unit(metric.unit, bucket.bound));
      sample(metric, "_bucket", labels, std::to_string(count));
    }
    sample(metric, "_bucket", more + ",le=\"+Inf\"", std::to_string(values.count()));
    sample(metric, "_sum", more, in_unit(metric.unit, values.sum));
    sample(metric, "_count", more, std::to_string(values.count()));
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [name, samples] : samples_) {
      text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, samples.metric->help, name_of(samples.metric->type));
      text += samples.lines;
    }
    return text;
  }

 private:
  void sample(const Metric& metric, std::string_view suffix, const std::string& more, const std::string& number) {
    Samples& samples = samples_[metric.name];
    samples.metric = &metric;
    samples.lines += fmt::format("{}{}{{group={}{}}} {}\n", metric.name, suffix, group_, more, number);
  }

  struct Samples {
    const Metric* metric = nullptr;
    std::string lines;
  };
  std::string group_;
  std::map<std::string_view, Samples> samples_;
};

std::string label_of(NodeId node) { return fmt::format(",node=\"{}\"", node.value()); }

void add_status(Exposition& to, const NodeReport& report) {
  const group::MemberStatus& status = report.status;
  const std::string node = label_of(status.node);
  const bool runs = report.lives();
  to.add(running, runs ? 1 : 0, node);
  if (!runs || !status.view) return;  // what a view was is no sign of life
  to.add(number_of_view, status.view->value(), node);
  to.add(members, status.members.size(), node);
  for (const group::MemberStatus::SubgroupEntry& subgroup : status.subgroups) {
    const std::string labels = node + ",subgroup=" + quoted(subgroup.name);
    to.add(adequate, subgroup.inadequate.empty() ? 1 : 0, labels);
    to.add(blocked, subgroup.blocked.empty() ? 0 : 1, labels);
  }
}

/// True if it is a gauge of one member's lag, which has the member in its name.
bool add_lag(Exposition& to, NodeId node, const CounterName& name, std::uint64_t value) {
  const std::string_view counter = name.counter;
  const bool messages = counter.starts_with(lag_messages_of);
  if (name.subgroup.empty() || (!messages && !counter.starts_with(lag_bytes_of))) return false;
  const std::string_view whose = counter.substr((messages ? lag_messages_of : lag_bytes_of).size());
  to.add(messages ? lag_messages : lag_bytes, value,
         label_of(node) + ",subgroup=" + quoted(name.subgroup) + ",for=" + quoted(whose));
  return true;
}

void add_histograms(Exposition& to, const NodeCounters& node) {
  for (const auto& [full, values] : histograms_of(node.values)) {
    const CounterName name = split_counter_name(full);
    if (const Metric* const metric = find_metric(histograms_of_subgroups, name.counter))
      to.add(*metric, values, label_of(node.node) + ",subgroup=" + quoted(name.subgroup));
  }
}

void add_counter(Exposition& to, NodeId node, const CounterValue& counter) {
  const CounterName name = split_counter_name(counter.name);
  const auto part = histogram_part(name.counter);
  if (part && find_metric(histograms_of_subgroups, part->histogram) != nullptr) return;
  if (add_lag(to, node, name, counter.value)) return;
  const std::string labels = label_of(node);
  if (const std::string_view whole = counter.name; whole.starts_with(waits_for_node))
    return to.add(wait_for_node, counter.value, labels + ",for=" + quoted(whole.substr(waits_for_node.size())));
  const Metric* const metric = name.subgroup.empty() ? find_metric(of_nodes, name.counter)
                                                     : find_metric(of_subgroups, name.counter);
  if (metric == nullptr) return to.add(other, counter.value, labels + ",counter=" + quoted(counter.name));
  to.add(*metric, counter.value, name.subgroup.empty() ? labels : labels + ",subgroup=" + quoted(name.subgroup));
}

}  // namespace

std::string prometheus_text(std::string_view group, const GroupReport& report, const GroupCounters& counters) {
  Exposition exposition(group);
  exposition.add(unreadable, report.problems.size() + counters.problems.size());
  for (const NodeReport& node : report.nodes) add_status(exposition, node);
  for (const NodeCounters& node : counters.nodes) {
    for (const CounterValue& counter : node.values) add_counter(exposition, node.node, counter);
    add_histograms(exposition, node);
  }
  return exposition.text();
}

}  // namespace spindrift::tools
