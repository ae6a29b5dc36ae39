// The table itself. Section and key names of Derecho keep their meaning; keys that have no effect here are listed so that a
// Derecho file is accepted, checked, and told which of its lines do nothing.
#include <spindrift/core/config/keys.hpp>

namespace spindrift::config {
namespace {

constexpr auto group = KeyScope::group;
constexpr auto node = KeyScope::node;
constexpr std::int64_t bytes_max = std::int64_t{1} << 40;
constexpr std::string_view loopback = "127.0.0.1";

/// A Derecho key without effect in this version.
constexpr Key unused(std::string_view section, std::string_view name, KeyType type, KeyScope scope,
                     std::string_view default_text, std::string_view documentation, std::int64_t highest = 0,
                     std::string_view unit = {}) {
  return {.section = section,
          .name = name,
          .type = type,
          .scope = scope,
          .default_text = default_text,
          .documentation = documentation,
          .lowest = 0,
          .highest = highest,
          .unit = unit,
          .used = false};
}
constexpr Key unused_port(std::string_view name, std::string_view default_text, std::string_view documentation) {
  return unused("DERECHO", name, KeyType::integer, node, default_text, documentation, 65535);
}

constexpr std::string_view example_layout = R"('
[
  {"name": "orders", "topics": ["trades", "quotes"]},
  {"name": "telemetry", "mode": "unordered", "members": [0, 1, 2], "senders": [0]},
  {"type_alias": "Ledger", "layout": [{"min_nodes_by_shard": [2], "max_nodes_by_shard": [3],
                                       "reserved_node_ids_by_shard": [["*0", "1", "2"]]}]}
]')";

constexpr Key table[] = {
    // [SPINDRIFT]
    {.section = "SPINDRIFT",
     .name = "group_name",
     .type = KeyType::group_name,
     .scope = group,
     .default_text = "spindrift",
     .documentation = "Name of the group. Processes of different groups never meet, even in one runtime directory."},
    {.section = "SPINDRIFT",
     .name = "members",
     .type = KeyType::node_list,
     .scope = group,
     .default_text = "",
     .documentation = "Node ids of all nodes that may ever be in the group, in rank order. Default: the ids that the layout "
                      "names, ascending; if it names none, 0 up to the smallest group that satisfies it. launcher: the "
                      "numbers of the processes that mpirun, mpiexec or srun has started together.",
     .example = "0, 1, 2",
     .launched = true},
    {.section = "SPINDRIFT",
     .name = "founders",
     .type = KeyType::node_list,
     .scope = group,
     .default_text = "",
     .documentation = "Members that must all be there to found the group's first view; the others join it later. Default: "
                      "all members. Founding is safe because no other set of members can found a group of this name; "
                      "whoever lists fewer accepts that these alone may start one."},
    {.section = "SPINDRIFT",
     .name = "fabric",
     .type = KeyType::choice,
     .scope = group,
     .default_text = "shm",
     .documentation = "How members reach each other's memory. shm: processes of one host over shared memory. ofi:tcp: "
                      "processes of any hosts over TCP, by libfabric's provider tcp. ofi:net: the same by its provider net, "
                      "a fork that libfabric 1.16 and 1.17 have. vq:tcp, vq:net: over TCP too, by virtual queue pairs "
                      "that share one connectionless endpoint for each member. verbs: processes of hosts with RDMA devices, "
                      "by rdma-core; addresses are then those of the devices' network interfaces. shm+ofi:tcp, shm+ofi:net, "
                      "shm+vq:tcp, shm+vq:net, shm+verbs: a member whose address has the same host as this node's, as it is "
                      "written there, over "
                      "shared memory, and all others as by the second name; who shares a host then shares "
                      "runtime_directory too.",
     .choices = "shm|ofi:tcp|ofi:net|vq:tcp|vq:net|verbs|shm+ofi:tcp|shm+ofi:net|shm+vq:tcp|"
                "shm+vq:net|shm+verbs",
     .refused = "vq:verbs",
     .reason = "libfabric's provider verbs does not tell that an operation has arrived, which virtual queue pairs rest on; "
               "verbs goes over the same devices"},
    {.section = "SPINDRIFT",
     .name = "addresses",
     .type = KeyType::addresses,
     .scope = node,
     .default_text = "",
     .documentation = "Where members listen, for every fabric but shm: id@host:port for each, separated by commas; host is "
                      "a name, an IPv4 address, or an IPv6 address in brackets. Or one pattern in which <id> stands for the "
                      "node: node-<id>.cluster:7400. Names are looked up anew for each attempt to connect. launcher:7400: "
                      "on the hosts where srun has started them, or mpirun or mpiexec on this one; the first process of a "
                      "host has that port, the next one the next port.",
     .example = "0@10.0.0.1:7400, 1@10.0.0.2:7400, 2@10.0.0.3:7400",
     .launched = true},
    {.section = "SPINDRIFT",
     .name = "runtime_directory",
     .type = KeyType::directory,
     .scope = node,
     .default_text = "/dev/shm/spindrift-<uid>",
     .documentation = "Where this node's sockets, locks and counters live. Members on one host must name the same "
                      "directory. <uid> stands for the number of the user."},
    {.section = "SPINDRIFT",
     .name = "poll",
     .type = KeyType::choice,
     .scope = node,
     .default_text = "block",
     .documentation = "What the poller does when there is nothing to do. block: spin briefly, then sleep until woken. "
                      "spin: never sleep, for a core of its own.",
     .choices = "block|spin"},
    {.section = "SPINDRIFT",
     .name = "spin_us",
     .type = KeyType::integer,
     .scope = node,
     .default_text = "50",
     .documentation = "How long the poller spins before it sleeps, with poll = block.",
     .lowest = 0,
     .highest = 10'000,
     .unit = "microseconds"},
    {.section = "SPINDRIFT",
     .name = "join_timeout_ms",
     .type = KeyType::integer,
     .scope = node,
     .default_text = "30000",
     .documentation = "How long a starting member looks for a group to found or to join before it gives up and names who is "
                      "missing.",
     .lowest = 1,
     .highest = 86'400'000,
     .unit = "milliseconds"},
    {.section = "SPINDRIFT",
     .name = "suspect_after_ms",
     .type = KeyType::integer,
     .scope = group,
     .default_text = "500",
     .documentation = "How long a member may show no sign of life before the others remove it. A process that ends is "
                      "noticed at once; this is for one that hangs. Too short, and a member that the machine does not let "
                      "run for a while is removed although it is well.",
     .lowest = 10,
     .highest = 600'000,
     .unit = "milliseconds"},
    {.section = "SPINDRIFT",
     .name = "state_buffer_size",
     .type = KeyType::integer,
     .scope = node,
     .default_text = "64 MiB",
     .documentation = "Most bytes of messages that this member keeps while the state of a group that it joins is on the "
                      "way; with more, it gives up joining.",
     .lowest = 65'536,
     .highest = bytes_max,
     .unit = "bytes"},
    {.section = "SPINDRIFT",
     .name = "log_level",
     .type = KeyType::log_levels,
     .scope = node,
     .default_text = "warn",
     .documentation = "What is logged: a level for every room, then exceptions; example: info,smc=trace. Levels: trace, "
                      "debug, info, warn, error, off. Rooms: core, fabric, kernel, sst, smc, views, group, dds, "
                      "tools."},
    {.section = "SPINDRIFT",
     .name = "log_file",
     .type = KeyType::path,
     .scope = node,
     .default_text = "",
     .documentation = "File that log lines are appended to. Empty: standard error."},

    // [DERECHO]
    {.section = "DERECHO",
     .name = "local_id",
     .type = KeyType::integer,
     .scope = node,
     .default_text = "0",
     .documentation = "This process's node id, unique in the group. One file serves all members when each sets this by "
                      "flag or environment. launcher: its number among those that mpirun, mpiexec or srun has started "
                      "together.",
     .lowest = 0,
     .highest = 0xffff'fffe,
     .launched = true},
    {.section = "DERECHO",
     .name = "json_layout",
     .type = KeyType::json,
     .scope = group,
     .default_text = "",
     .documentation = "As [LAYOUT] json_layout; older Derecho files have it here."},
    {.section = "DERECHO",
     .name = "json_layout_path",
     .type = KeyType::path,
     .scope = group,
     .default_text = "",
     .documentation = "As [LAYOUT] json_layout_file; older Derecho files have it here."},
    {.section = "DERECHO",
     .name = "disable_partitioning_safety",
     .type = KeyType::boolean,
     .scope = group,
     .default_text = "false",
     .documentation = "Whether members that lost the majority of their view go on alone instead of stopping. For "
                      "development only: when the network is split, each part goes on, and what they deliver then cannot "
                      "be reconciled. Derecho's default is true."},
    unused("DERECHO", "contact_ip", KeyType::text, group, loopback, "Address of a member that newcomers ask."),
    unused_port("contact_port", "23580", "Port of that member."),
    unused("DERECHO", "leader_ip", KeyType::text, group, loopback, "Address of the first leader."),
    unused_port("leader_gms_port", "23580", "Membership port of the first leader."),
    unused_port("leader_external_port", "32645", "Port of the first leader for external clients."),
    unused("DERECHO", "restart_leaders", KeyType::text, group, loopback, "Addresses that may lead a restart."),
    unused("DERECHO", "restart_leader_ports", KeyType::text, group, "23580", "Their ports."),
    unused("DERECHO", "local_ip", KeyType::text, node, loopback, "This node's address."),
    unused_port("gms_port", "23580", "This node's membership port."),
    unused_port("rpc_port", "28366", "This node's port for calls."),
    unused_port("state_transfer_port", "28366", "This node's port for state transfer."),
    unused_port("sst_port", "37683", "This node's port for the shared state table."),
    unused_port("rdmc_port", "31675", "This node's port for large multicasts."),
    unused_port("external_port", "32645", "This node's port for external clients."),
    unused("DERECHO", "heartbeat_ms", KeyType::integer, group, "1", "Period of the failure detector.", 3'600'000,
           "milliseconds"),
    unused("DERECHO", "sst_poll_cq_timeout_ms", KeyType::integer, group, "2000", "Longest wait for a completion.", 3'600'000,
           "milliseconds"),
    unused("DERECHO", "p2p_loop_busy_wait_before_sleep_ms", KeyType::integer, node, "250",
           "How long the loop for calls between members spins before it sleeps.", 3'600'000, "milliseconds"),
    unused("DERECHO", "restart_timeout_ms", KeyType::integer, group, "2000", "Longest wait of a restart leader.", 86'400'000,
           "milliseconds"),
    unused("DERECHO", "enable_backup_restart_leaders", KeyType::boolean, group, "false",
           "Whether other members may lead a restart."),
    unused("DERECHO", "max_p2p_request_payload_size", KeyType::integer, group, "10240",
           "Largest request between two members.", bytes_max, "bytes"),
    unused("DERECHO", "max_p2p_reply_payload_size", KeyType::integer, group, "10240", "Largest reply between two members.",
           bytes_max, "bytes"),
    unused("DERECHO", "p2p_window_size", KeyType::integer, group, "16", "Requests in flight between two members.", 1 << 20,
           "messages"),
    unused("DERECHO", "max_node_id", KeyType::integer, group, "1024", "Largest node id that may occur.", 0xffff'ffff),

    // [LAYOUT]
    {.section = "LAYOUT",
     .name = "json_layout",
     .type = KeyType::json,
     .scope = group,
     .default_text = "",
     .documentation = "The subgroups, as JSON between single quotes, over as many lines as it needs: a list of entries. An "
                      "entry has a name (else its type_alias), and either Derecho's layout (min_nodes_by_shard, "
                      "max_nodes_by_shard, reserved_node_ids_by_shard, delivery_modes_by_shard, profiles_by_shard, "
                      "topics_by_shard; an id written \"*7\" is a sender, and if any id is so marked, the others of its "
                      "shard are not) or the plain form: members (default: all), min_members (default: 1), senders "
                      "(default: all of its members), mode (ordered or unordered), profile, topics. The second subgroup of "
                      "one layout has the suffix .1, the second shard /1, and so on. In each view a subgroup has those of "
                      "its members that are there; with fewer than its minimum, or without a sender that it names, it has "
                      "none. Members agree on what the layout means, not on its text.",
     .example = example_layout},
    {.section = "LAYOUT",
     .name = "json_layout_file",
     .type = KeyType::path,
     .scope = group,
     .default_text = "",
     .documentation = "The same JSON in a file of its own; a relative path starts at the directory of this file. Give "
                      "either this or json_layout."},

    // [SUBGROUP/<profile>]
    {.section = profile_section,
     .name = "max_smc_payload_size",
     .type = KeyType::integer,
     .scope = group,
     .default_text = "10240",
     .documentation = "Largest message that may be sent in subgroups of this profile.",
     .lowest = 1,
     .highest = (std::int64_t{1} << 28) - 16,
     .unit = "bytes"},
    {.section = profile_section,
     .name = "window_size",
     .type = KeyType::integer,
     .scope = group,
     .default_text = "1024",
     .documentation = "Most messages of one sender that may be on their way at once. Derecho's default is 16, counted in "
                      "slots of maximum size; here messages take the space they need, so that the ring's bytes are the "
                      "limit that matters.",
     .lowest = 1,
     .highest = 1 << 20,
     .unit = "messages"},
    {.section = profile_section,
     .name = "ring_size",
     .type = KeyType::integer,
     .scope = group,
     .default_text = "",
     .documentation = "Size of each sender's ring: a power of two. Half of it, less 8 bytes, must hold the largest message "
                      "that is not large. Default: the smallest power of two that is at least 1 MiB and four such messages.",
     .lowest = 4096,
     .highest = std::int64_t{1} << 30,
     .unit = "bytes"},
    {.section = profile_section,
     .name = "bulk_ring_bytes",
     .type = KeyType::integer,
     .scope = group,
     .default_text = "0",
     .documentation = "Size of each sender's ring for large messages, beside the other: a power of two, of which half must "
                      "hold the largest message. Between hosts every member has a copy of every sender's. 0: none, and no "
                      "message is large.",
     .lowest = 0,
     .highest = std::int64_t{1} << 34,
     .unit = "bytes"},
    {.section = profile_section,
     .name = "large_message_bytes",
     .type = KeyType::integer,
     .scope = group,
     .default_text = "65536",
     .documentation = "With a bulk ring: messages of more bytes than this are large. They lie in the bulk ring, and between "
                      "hosts one member hands each on to the others, so that the sender's link carries it once. At least "
                      "16; 0: no message is large, and there is no bulk ring.",
     .lowest = 0,
     .highest = (std::int64_t{1} << 28) - 16,
     .unit = "bytes"},
    unused(profile_section, "max_payload_size", KeyType::integer, group, "10240",
           "Largest message by any path. Messages larger than max_smc_payload_size need Derecho's large multicast.",
           bytes_max, "bytes"),
    unused(profile_section, "max_reply_payload_size", KeyType::integer, group, "10240", "Largest reply to an ordered call.",
           bytes_max, "bytes"),
    unused(profile_section, "block_size", KeyType::integer, group, "1048576", "Block of the large multicast.", bytes_max,
           "bytes"),
    unused(profile_section, "rdmc_send_algorithm", KeyType::text, group, "binomial_send",
           "Schedule of the large multicast."),
    unused(profile_section, "num_shards", KeyType::integer, group, "1", "Shards; the JSON layout says it here.", 1024),
    unused(profile_section, "min_nodes", KeyType::integer, group, "1", "Least members; the JSON layout says it here.", 1024),
    unused(profile_section, "max_nodes", KeyType::integer, group, "1", "Most members; the JSON layout says it here.", 1024),

    // [RDMA]
    unused("RDMA", "provider", KeyType::text, node, "sockets", "libfabric provider; [SPINDRIFT] fabric chooses here."),
    unused("RDMA", "domain", KeyType::text, node, "eth0", "Network interface or RDMA device."),
    unused("RDMA", "tx_depth", KeyType::integer, node, "256", "Length of the send queue.", 1 << 24, "entries"),
    unused("RDMA", "rx_depth", KeyType::integer, node, "256", "Length of the receive queue.", 1 << 24, "entries"),

    // [PERS]
    unused("PERS", "file_path", KeyType::path, node, ".plog", "Directory of the durable log."),
    unused("PERS", "ramdisk_path", KeyType::path, node, "/dev/shm/volatile_t", "Directory of volatile logs."),
    unused("PERS", "reset", KeyType::boolean, node, "false", "Whether to remove the durable log at start."),
    unused("PERS", "max_log_entry", KeyType::integer, node, "1048576", "Most entries of one log.", bytes_max, "entries"),
    unused("PERS", "max_data_size", KeyType::integer, node, "549755813888", "Most data of one log.", std::int64_t{1} << 60,
           "bytes"),
    unused("PERS", "private_key_file", KeyType::path, node, "private_key.pem", "Key that signs log entries."),

    // [LOGGER]
    unused("LOGGER", "default_log_name", KeyType::text, node, "derecho_debug", "Name of the log file."),
    unused("LOGGER", "default_log_level", KeyType::text, node, "info", "Level; here [SPINDRIFT] log_level says it."),
    unused("LOGGER", "sst_log_level", KeyType::text, node, "", "Level of the table's log."),
    unused("LOGGER", "rpc_log_level", KeyType::text, node, "", "Level of the call's log."),
    unused("LOGGER", "viewmanager_log_level", KeyType::text, node, "", "Level of the membership's log."),
    unused("LOGGER", "persistence_log_level", KeyType::text, node, "", "Level of the durable log's log."),
    unused("LOGGER", "log_to_terminal", KeyType::boolean, node, "true", "Whether to log to the terminal too."),
    unused("LOGGER", "log_file_depth", KeyType::integer, node, "3", "Log files kept.", 1 << 20, "files"),
};

}  // namespace

std::span<const Key> keys() { return table; }

}  // namespace spindrift::config
