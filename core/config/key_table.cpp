// The table itself. Section and key names of Derecho keep their meaning; keys that have no effect here are listed so that a
// Derecho file is accepted, checked, and told which of its lines do nothing.
#include <spindrift/core/config/keys.hpp>
#include <spindrift/core/keys_path.hpp>
#include <spindrift/core/profile.hpp>

namespace spindrift::config {
namespace {

using enum KeyScope;
using enum KeyType;
constexpr std::int64_t bytes_max = std::int64_t{1} << 40;
constexpr std::string_view loopback = "127.0.0.1";

/// A Derecho key without effect in this version.
constexpr Key unused(std::string_view section, std::string_view name, KeyType type, KeyScope scope,
                     std::string_view default_text, std::string_view documentation, std::int64_t highest = 0,
                     std::string_view unit = {}) {
  Key key{section, name, type, scope, default_text, documentation, 0, highest, unit};
  key.used = false;
  return key;
}
constexpr Key unused_port(std::string_view name, std::string_view default_text, std::string_view documentation) {
  return unused("DERECHO", name, integer, node, default_text, documentation, 65535);
}

constexpr Key choice_of(Key key, std::string_view choices, std::string_view refused = {}, std::string_view reason = {}) {
  key.choices = choices;
  key.refused = refused;
  key.reason = reason;
  return key;
}
constexpr Key with_example(Key key, std::string_view example) {
  key.example = example;
  return key;
}
constexpr Key launched(Key key) {
  key.launched = true;
  return key;
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
    {"SPINDRIFT", "group_name", group_name, group, "spindrift",
     "Name of the group. Processes of different groups never meet, even in one runtime directory."},
    launched(with_example({"SPINDRIFT", "members", node_list, node, "",
                           "Node ids of the nodes that may be in the group, 256 at most, in rank order: its first roster, "
                           "and those that this node looks for when it starts. A group that runs has its roster from its "
                           "members, and changes it at run time (spindrift group add): files that name fewer or other "
                           "nodes are no hindrance, as long as one that is named is a member. Default: the ids that the "
                           "layout names, ascending; if it names none, 0 up to the smallest group that satisfies it; with "
                           "founding = present also 0 to 31. "
                           "launcher: the numbers of the processes that mpirun, mpiexec or srun has started together."},
                          "0, 1, 2")),
    choice_of({"SPINDRIFT", "founding", choice, group, "named",
               "Who founds the group's first view. named: the founders, who must all be there. present: whoever runs on "
               "this host when nobody has founded it yet, be it one process; the others join it later, in any order. Each "
               "process whose local_id nobody has set takes the lowest id that no process has. present needs fabric shm, "
               "which alone knows every process that lives."},
              "named|present"),
    {"SPINDRIFT", "founders", node_list, node, "",
     "Members that must all be there to found the group's first view, with founding = named; the others join it later. "
     "Default: all members. After all have stopped a majority of the last view's nodes founds the next one instead, be they "
     "listed here or not. "
     "The same in the files of all founders: founding is safe because no other set of members can found a group of this "
     "name. Whoever lists fewer than all members accepts that these alone may start one. A node that joins a group that "
     "runs founds nothing, whatever it lists."},
    with_example(
        choice_of(
            {"SPINDRIFT", "fabric", choice, group, "",
             "How members reach each other's memory. shm: processes of one host over shared memory. tcp: processes of any "
             "hosts over TCP, encrypted and proved to each other unless security says none. ofi:tcp: over TCP by "
             "libfabric's provider tcp, in the clear. ofi:net: the same by its provider net, a fork that libfabric 1.16 "
             "and 1.17 have. vq:tcp, vq:net: over TCP too, by virtual queue pairs that share one connectionless endpoint "
             "for each member. verbs: processes of hosts with RDMA devices, by rdma-core; addresses are then those of the "
             "devices' network interfaces. shm+tcp, shm+ofi:tcp, shm+ofi:net, shm+vq:tcp, shm+vq:net, shm+verbs: a member "
             "whose address has the same host as this node's, as it is written there, over shared memory, and all others "
             "as by the second name; who shares a host then shares runtime_directory too. Default: shm+tcp if addresses "
             "or contacts are given, as all members then have to do; shm if neither are."},
            "shm|tcp|ofi:tcp|ofi:net|vq:tcp|vq:net|verbs|shm+tcp|shm+ofi:tcp|shm+ofi:net|shm+vq:tcp|shm+vq:net|shm+verbs",
            "vq:verbs",
            "libfabric's provider verbs does not tell that an operation has arrived, which virtual queue pairs rest on; "
            "verbs goes over the same devices"),
        "shm"),
    launched(with_example({"SPINDRIFT", "addresses", addresses, node, "",
                           "Where members listen, for every fabric but shm: id@host:port for each, separated by commas; "
                           "host is a name, an IPv4 address, or an IPv6 address in brackets. Or one pattern in which <id> "
                           "stands for the node: node-<id>.cluster:7400. Names are looked up anew for each attempt to "
                           "connect. launcher:7400: on the hosts where srun has started them, or mpirun or mpiexec on this "
                           "one; the first process of a host has that port, the next one the next port."},
                          "0@10.0.0.1:7400, 1@10.0.0.2:7400, 2@10.0.0.3:7400")),
    {"SPINDRIFT", "contacts", contacts, node, "",
     "Addresses at which this node asks for the group before it looks for it: host:port for each, separated by commas; a "
     "name is asked at all of its addresses, so a headless service is enough. A member that answers tells the roster, which "
     "then stands for members and addresses: this node has to know neither, its own address included. Its id is local_id "
     "or, if nobody sets that, the one of its key. If no contact is in a group, members and founders say how one begins; "
     "where no members are given, it asks again until join_timeout_ms is over. Needs fabric tcp or shm+tcp, which is the "
     "default then."},
    {"SPINDRIFT", "bootstrap", boolean, node, "false",
     "Whether this node founds the group alone, once every contact is known to be in none, for it says so or nobody listens "
     "there: said once in a group's life, at its first node, whose id has to be set and whose address has to stand in "
     "addresses. Others are let in by spindrift group add. Who says it while all contacts are down, and the group goes on "
     "elsewhere, founds a second one of that name."},
    {"SPINDRIFT", "network_trusted", boolean, node, "false",
     "Whether every host that can reach the members' ports is trusted. ofi:..., vq:..., verbs and their forms behind shm+ "
     "hand the bytes of whoever reaches a port to libfabric or rdma-core before anything shows who sent them, and data "
     "travel in the clear; so they refuse to start if a member's address is not of the loopback interface (127.0.0.0/8, "
     "::1, localhost), unless this says true."},
    choice_of({"SPINDRIFT", "security", choice, group, "tls",
               "How members of different hosts protect what they say. tls: each proves by its key who it is; over tcp "
               "everything is encrypted; over ofi:..., vq:... and verbs all but what is written into memory: multicasts and "
               "their counters. Between addresses of the loopback interface alone these three want proofs only if this is "
               "written. none: whoever reaches a member's port can read and change everything, and join; each start logs "
               "that."},
              "tls|none"),
    {"SPINDRIFT", "keys", keys_directory, node, keys_path_default,
     "Where the keys of this node lie, with security = tls: the directory that spindrift keys made for it, with "
     "authority.crt, node.crt, node.key and revoked.crl. ~ in front stands for the home directory, <group> for group_name, "
     "<id> for the node."},
    {"SPINDRIFT", "split_rows", boolean, group, "false",
     "Whether neighbors see messages of their own subgroups alone. A member's messages lie in its row, which all members of "
     "the same host map over shared memory. true: the messages of each subgroup lie in memory of their own, which only its "
     "members get; the counters stay in the row. Between hosts it is so anyway."},
    {"SPINDRIFT", "observer_port", integer, node, "0",
     "Where a member listens for observers of other hosts: this port of its host in addresses; of several members of one "
     "host the first in rank order has it, the next one the port behind it, and so on. Observers call the same ports, so "
     "everybody's files have to agree. security says how both ends prove themselves: by keys of the group, of the role "
     "member or observer, with everything encrypted; or not at all. 0: nobody but processes of the same host may observe.",
     0, 65'535},
    {"SPINDRIFT", "client_port", integer, node, "0",
     "Where a member listens for clients, programs outside of the group that call the replicated objects that its program "
     "offers: this port of its host in addresses; of several members of one host the first in rank order has it, the next "
     "one the port behind it, and so on. Clients learn the ports of all members from one of them, so everybody's files have "
     "to agree. With security = tls both ends prove themselves by keys of the group, of the role member or client, with "
     "everything encrypted; without keys the address has to be one of the loopback interface. 0: nobody outside of the "
     "group may call.",
     0, 65'535},
    {"SPINDRIFT", "client_rights", text, node, "",
     "What clients may call at this member, by the names of their keys and by subgroups: CLIENT@SUBGROUP:update or "
     "CLIENT@SUBGROUP:query for each right, separated by commas, as teller@ledger:update, *@prices:query; update includes "
     "queries, and * is any client, or any subgroup. What no entry allows is refused. Empty: who is let in at client_port "
     "may call all that is offered, as who has the key of a member may in any case. Clients go from member to member, so "
     "all of them should have the same."},
    {"SPINDRIFT", "observer_bytes_per_s", integer, node, "512 MiB",
     "Most bytes that this member and the observers of a subgroup that read it copy each second, all together: one copy by "
     "the member, and one more for each observer, with 72 bytes for each message. So one observer gets half of that, and "
     "each of 63 gets 8 MiB of 512. After a pause, 8 MiB or more come at once. What is delivered beyond that, all of them "
     "miss, and are told how much it was: this bounds what observers cost the senders. 0: no bound, for observers that are "
     "to get everything on hosts that can bear it.",
     0, std::int64_t{1} << 40, "bytes"},
    {"SPINDRIFT", "table_bytes", integer, group, "4 KiB",
     "Room in each member's row for the tables that programs make for themselves: each takes 64 bytes, and twice its value "
     "with 16 bytes more, in lines of 64; there can be one for each 256 bytes. 0: none can be made. Where a program makes "
     "none, this is memory and nothing else.",
     0, 1'048'576, "bytes"},
    {"SPINDRIFT", "runtime_directory", directory, node, "/dev/shm/spindrift-<uid>",
     "Where this node's sockets, locks and counters live. Members on one host must name the same directory. <uid> stands "
     "for the number of the user."},
    choice_of({"SPINDRIFT", "poll", choice, node, "block",
               "What the poller does when there is nothing to do. block: spin briefly, then sleep until woken. spin: never "
               "sleep, for a core of its own."},
              "block|spin"),
    {"SPINDRIFT", "spin_us", integer, node, "50", "How long the poller spins before it sleeps, with poll = block.", 0,
     10'000, "microseconds"},
    choice_of({"SPINDRIFT", "dds_listeners", choice, node, "thread",
               "Where listeners of topics hear of samples. thread: on a thread of the participant's own, where they may "
               "wait. poller: on the poller, as soon as samples have come, which saves two changes of threads on each way; "
               "there they should return soon, and a call that would have to wait is refused."},
              "thread|poller"),
    {"SPINDRIFT", "join_timeout_ms", integer, node, "30000",
     "How long a starting member looks for a group to found or to join before it gives up and names who is missing.", 1,
     86'400'000, "milliseconds"},
    {"SPINDRIFT", "suspect_after_ms", integer, group, "2000",
     "How long a member may show no sign of life, which it gives each quarter of that, before the others remove it. A "
     "process that ends is noticed at once; this is for one that hangs. Too short, and a member that the machine does not "
     "let run for a while is removed although it is well; over shm the kernel tells which is which, and such a member has "
     "fifteen times as long.",
     10, 600'000, "milliseconds"},
    {"SPINDRIFT", "handler_stuck_after_ms", integer, node, "30000",
     "How long a handler may hold up everybody: on the poller's thread, or on a thread of its own while a view is to end; "
     "and how long the disk of [PERS] file_path may, which takes a record at each change of the view. A member whose "
     "handler or disk takes longer ends with an error that says so. 0: they wait as long as it takes.",
     0, 86'400'000, "milliseconds"},
    choice_of({"SPINDRIFT", "majority_lost", choice, node, "end",
               "What becomes of this member when the majority of its view is lost. end: it ends, and whoever starts it "
               "again founds the group anew with a majority, without a state. wait: it keeps its state and waits, sends "
               "wait, and spindrift group revive lets those that are left go on; nodes that are started anew wait, too."},
              "end|wait"),
    choice_of({"SPINDRIFT", "lagging_member", choice, node, "wait",
               "What becomes of this member when its own handlers are behind, for which all senders wait before long. wait: "
               "everybody waits. remove: once a message has waited for lagging_after_ms for its handler, this member ends "
               "with an error that names the subgroup, and the others go on."},
              "wait|remove"),
    {"SPINDRIFT", "lagging_after_ms", integer, node, "10000",
     "With lagging_member = remove: how long a message that this member could deliver may wait for its handler, or for "
     "on_delivery to be set. Time in which this process did not run does not count; a message that lags is found after "
     "twice as long at the latest.",
     100, 86'400'000, "milliseconds"},
    {"SPINDRIFT", "state_buffer_size", integer, node, "64 MiB",
     "Most bytes of messages of each subgroup that this member keeps while the subgroup's state is on its way to it, or is "
     "being saved or loaded here. With more, the subgroup's senders wait until that is over.",
     65'536, bytes_max, "bytes"},
    {"SPINDRIFT", "log_level", log_levels, node, "warn",
     "What is logged: a level for every room, then exceptions; example: info,smc=trace. Levels: trace, debug, info, warn, "
     "error, off. Rooms: core, fabric, kernel, sst, smc, views, group, dds, tools, audit."},
    {"SPINDRIFT", "log_file", path, node, "",
     "File that log lines are appended to, in a directory that is there. Empty: standard error. This and log_level hold for "
     "the whole process from the start of its member on."},
    {"SPINDRIFT", "audit_file", path, node, "",
     "File that lines of the audit are appended to: who came in, was refused or removed, and which keys changed, each with "
     "who and why. It is made with mode 0600, may be renamed at any time, and has all of them whatever log_level says. "
     "Empty: they are in the log alone, room audit."},

    // [DERECHO]
    launched({"DERECHO", "local_id", integer, node, "0",
              "This process's node id, unique in the group. One file serves all members when each sets this by flag or "
              "environment. launcher: its number among those that mpirun, mpiexec or srun has started together. hostname: "
              "the number at the end of this host's name, up to its first dot: 3 of orders-3, as a StatefulSet names pods.",
              0, 0xffff'fffe}),
    {"DERECHO", "json_layout", json, group, "", "As [LAYOUT] json_layout; older Derecho files have it here."},
    {"DERECHO", "json_layout_path", path, group, "", "As [LAYOUT] json_layout_file; older Derecho files have it here."},
    {"DERECHO", "disable_partitioning_safety", boolean, group, "false",
     "Whether members that lost the majority of their view go on alone instead of stopping. For development only: when the "
     "network is split, each part goes on, and what they deliver then cannot be reconciled. Derecho's default is true."},
    unused("DERECHO", "contact_ip", text, group, loopback, "Address of a member that newcomers ask."),
    unused_port("contact_port", "23580", "Port of that member."),
    unused("DERECHO", "leader_ip", text, group, loopback, "Address of the first leader."),
    unused_port("leader_gms_port", "23580", "Membership port of the first leader."),
    unused_port("leader_external_port", "32645", "Port of the first leader for external clients."),
    unused("DERECHO", "restart_leaders", text, group, loopback, "Addresses that may lead a restart."),
    unused("DERECHO", "restart_leader_ports", text, group, "23580", "Their ports."),
    unused("DERECHO", "local_ip", text, node, loopback, "This node's address."),
    unused_port("gms_port", "23580", "This node's membership port."),
    unused_port("rpc_port", "28366", "This node's port for calls."),
    unused_port("state_transfer_port", "28366", "This node's port for state transfer."),
    unused_port("sst_port", "37683", "This node's port for the shared state table."),
    unused_port("rdmc_port", "31675", "This node's port for large multicasts."),
    unused_port("external_port", "32645", "This node's port for external clients."),
    unused("DERECHO", "heartbeat_ms", integer, group, "1", "Period of the failure detector.", 3'600'000, "milliseconds"),
    unused("DERECHO", "sst_poll_cq_timeout_ms", integer, group, "2000", "Longest wait for a completion.", 3'600'000,
           "milliseconds"),
    unused("DERECHO", "p2p_loop_busy_wait_before_sleep_ms", integer, node, "250",
           "How long the loop for calls between members spins before it sleeps.", 3'600'000, "milliseconds"),
    unused("DERECHO", "restart_timeout_ms", integer, group, "2000", "Longest wait of a restart leader.", 86'400'000,
           "milliseconds"),
    unused("DERECHO", "enable_backup_restart_leaders", boolean, group, "false", "Whether other members may lead a restart."),
    unused("DERECHO", "max_p2p_request_payload_size", integer, group, "10240", "Largest request between two members.",
           bytes_max, "bytes"),
    unused("DERECHO", "max_p2p_reply_payload_size", integer, group, "10240", "Largest reply between two members.", bytes_max,
           "bytes"),
    unused("DERECHO", "p2p_window_size", integer, group, "16", "Requests in flight between two members.", 1 << 20,
           "messages"),
    unused("DERECHO", "max_node_id", integer, group, "1024", "Largest node id that may occur.", 0xffff'ffff),

    // [LAYOUT]
    with_example(
        {"LAYOUT", "json_layout", json, group, "",
         "The subgroups, as JSON between single quotes, over as many lines as it needs: a list of entries; [] where all "
         "subgroups are created while the group runs. An entry has a "
         "name (else its type_alias), and either Derecho's layout (min_nodes_by_shard, max_nodes_by_shard, "
         "reserved_node_ids_by_shard, delivery_modes_by_shard, storage_by_shard, history_by_shard, profiles_by_shard, "
         "topics_by_shard; an id written \"*7\" is a sender, and if any id is so marked, the others of its shard are not) "
         "or the plain form: "
         "members (default: all), min_members (default: 1), senders (default: all of its members), mode (ordered or "
         "unordered), storage (memory or logged; default: memory), history (default: none), profile, topics; or, with "
         "shards, how many disjoint "
         "parts the members are cut into, each with min_members to max_members (default: no limit), as even as members that "
         "stay allow. "
         "The second subgroup of one layout has the suffix .1, the second shard /1, and so on. In each view a subgroup has "
         "those of its members that are there; with fewer than its minimum, or without a sender that it names, it has none. "
         "\"storage\": \"logged\" keeps each member's deliveries in its journal below [PERS] file_path, so that they "
         "outlive all processes; for ordered subgroups alone, at most 64, with file_path set and founding = named. "
         "\"history\": 1000 has each member keep the last 1000 messages in memory, and a member that comes later is given "
         "them before what is delivered then; or {\"messages\": 1000, \"bytes\": 1048576, \"age_ms\": 60000} with at least "
         "one of these, of which each holds. A message counts with its payload in whole words of 8 bytes, and 48 more. "
         "bytes is at least what the largest message counts, and 67108864 where age_ms is the only bound. For ordered "
         "subgroups alone, and not where a program gives the subgroup a state or an object. Of a logged subgroup it bounds "
         "the log instead: older messages are trimmed away, by whole segments of the journal, once all members have them on "
         "their disks; age_ms may then be the only bound, and a replicated object begins with a checkpoint. "
         "Members agree on what the layout means, not on its text."},
        example_layout),
    {"LAYOUT", "json_layout_file", path, group, "",
     "The same JSON in a file of its own; a relative path starts at the directory of this file. Give either this or "
     "json_layout."},

    // [SUBGROUP/<profile>]
    {profile_section, "max_smc_payload_size", integer, group, "10240",
     "Largest message that may be sent in subgroups of this profile.", 1, (std::int64_t{1} << 28) - 16, "bytes"},
    {profile_section, "window_size", integer, view, "1024",
     "Most messages of one sender that may be on their way at once. Derecho's default is 16, counted in slots of maximum "
     "size; here messages take the space they need, so that the ring's bytes are the limit that matters.",
     1, 1 << 20, "messages"},
    {profile_section, "ring_size", integer, view, "",
     "Size of each sender's ring: a power of two. Half of it, less 8 bytes, must hold the largest message that is not "
     "large. Default: the smallest power of two that is at least 1 MiB and four such messages.",
     std::int64_t{ring_bytes_min}, std::int64_t{ring_bytes_max}, "bytes"},
    {profile_section, "bulk_ring_bytes", integer, group, "0",
     "Size of each sender's ring for large messages, beside the other: a power of two, of which half must hold the largest "
     "message. Between hosts every member has a copy of every sender's. 0: none, and no message is large.",
     0, std::int64_t{1} << 34, "bytes"},
    {profile_section, "large_message_bytes", integer, group, "65536",
     "With a bulk ring: messages of more bytes than this are large. They lie in the bulk ring, and between hosts one member "
     "hands each on to the others, so that the sender's link carries it once. At least 16; 0: no message is large, and "
     "there is no bulk ring.",
     0, (std::int64_t{1} << 28) - 16, "bytes"},
    unused(profile_section, "max_payload_size", integer, group, "10240",
           "Largest message by any path. Messages larger than max_smc_payload_size need Derecho's large multicast.",
           bytes_max, "bytes"),
    unused(profile_section, "max_reply_payload_size", integer, group, "10240", "Largest reply to an ordered call.",
           bytes_max, "bytes"),
    unused(profile_section, "block_size", integer, group, "1048576", "Block of the large multicast.", bytes_max, "bytes"),
    unused(profile_section, "rdmc_send_algorithm", text, group, "binomial_send", "Schedule of the large multicast."),
    unused(profile_section, "num_shards", integer, group, "1", "Shards; the JSON layout says it here.", 1024),
    unused(profile_section, "min_nodes", integer, group, "1", "Least members; the JSON layout says it here.", 1024),
    unused(profile_section, "max_nodes", integer, group, "1", "Most members; the JSON layout says it here.", 1024),

    // [RDMA]
    unused("RDMA", "provider", text, node, "sockets", "libfabric provider; [SPINDRIFT] fabric chooses here."),
    unused("RDMA", "domain", text, node, "eth0", "Network interface or RDMA device."),
    unused("RDMA", "tx_depth", integer, node, "256", "Length of the send queue.", 1 << 24, "entries"),
    unused("RDMA", "rx_depth", integer, node, "256", "Length of the receive queue.", 1 << 24, "entries"),

    // [PERS]
    {"PERS", "file_path", path, node, "",
     "Directory in which the nodes of this host keep what has to last when machines stop, each in <file_path>/<group>/<id>, "
     "on a disk of the host's own: which view of the group a node was in last, its roster, and what it delivered in logged "
     "subgroups (json_layout), which need this. A relative one is below the working directory. Empty: nothing is kept, and "
     "when all machines have been started anew the group begins as on the first day. Without effect with founding = "
     "present."},
    {"PERS", "sign_logs", boolean, node, "false",
     "Whether this node signs the logs of its logged subgroups in its journal with its key (keys), so that a third party "
     "can check them: spindrift log verify --keys. Needs file_path and an Ed25519 key, whatever fabric is used. A journal "
     "that has signatures is refused by programs that do not know them."},
    unused("PERS", "ramdisk_path", path, node, "/dev/shm/volatile_t", "Directory of volatile logs."),
    unused("PERS", "reset", boolean, node, "false", "Whether to remove the durable log at start."),
    unused("PERS", "max_log_entry", integer, node, "1048576", "Most entries of one log.", bytes_max, "entries"),
    unused("PERS", "max_data_size", integer, node, "549755813888", "Most data of one log.", std::int64_t{1} << 60, "bytes"),
    unused("PERS", "private_key_file", path, node, "private_key.pem", "Key that signs log entries."),

    // [LOGGER]
    unused("LOGGER", "default_log_name", text, node, "derecho_debug", "Name of the log file."),
    unused("LOGGER", "default_log_level", text, node, "info", "Level; here [SPINDRIFT] log_level says it."),
    unused("LOGGER", "sst_log_level", text, node, "", "Level of the table's log."),
    unused("LOGGER", "rpc_log_level", text, node, "", "Level of the call's log."),
    unused("LOGGER", "viewmanager_log_level", text, node, "", "Level of the membership's log."),
    unused("LOGGER", "persistence_log_level", text, node, "", "Level of the durable log's log."),
    unused("LOGGER", "log_to_terminal", boolean, node, "true", "Whether to log to the terminal too."),
    unused("LOGGER", "log_file_depth", integer, node, "3", "Log files kept.", 1 << 20, "files"),
};

}  // namespace

std::span<const Key> keys() { return table; }

}  // namespace spindrift::config
