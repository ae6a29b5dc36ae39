// The configuration of one member: every value typed, checked and with its origin, and the view that the layout describes.
// A Config that exists is valid: reading reports what is wrong with file:line, cause and fix, and never guesses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift {

using ConfigDigest = Digest;

/// A value from the command line. It wins over the environment, which wins over the file, which wins over the default.
struct ConfigOverride {
  std::string name;  ///< "SECTION/key": "DERECHO/local_id", "SUBGROUP/DEFAULT/window_size"
  std::string value;  ///< as one would write it in the file
  std::string flag = "--set";  ///< how the user said it, for origins and errors: an option, or words
};

/// One value in force, as `config show` prints it.
struct EffectiveValue {
  std::string section;        ///< without brackets
  std::string key;            ///< its name in the section
  std::string value;          ///< in canonical form
  std::string origin;         ///< "flag --set", "environment SPINDRIFT_POLL", "derecho.cfg:12", "default"; or words
  std::string documentation;  ///< one paragraph: meaning, unit, range
  std::string environment;    ///< the variable that sets it
  bool group_wide = false;    ///< all members must agree on it
  bool used = true;           ///< false: accepted for Derecho's sake, without effect in this version
};

/// The behavior of a poller while it has nothing to do.
enum class PollMode : std::uint8_t {
  block,  ///< spin briefly, then sleep until woken
  spin,   ///< never sleep; for dedicated cores
};

/// The ways of a poller beside the protocol.
struct Polling {
  PollMode mode = PollMode::block;  ///< while there is nothing to do
  Duration spin{};                  ///< so long it spins before it sleeps
  bool calls_listeners = false;     ///< of topics, which else are called on a thread of their own
};

/// Immutable; copies share. Thread-safe.
class Config {
 public:
  using Environment = std::map<std::string, std::string>;  ///< variables by name

  /// The file at `path`, with this process's environment. Errors: bad_config: the first problem, and how many there
  /// are; or that the file cannot be read.
  [[nodiscard]] static Result<Config> read(const std::string& path, const std::vector<ConfigOverride>& overrides = {});
  /// The same, throwing Exception.
  [[nodiscard]] static Config load(const std::string& path) { return value_or_throw(read(path)); }
  /// A configuration given as text. Reads no file and no environment but what is passed. `name` is what errors call it.
  [[nodiscard]] static Result<Config> parse(std::string_view text, const std::string& name,
                                            const std::vector<ConfigOverride>& overrides = {},
                                            const Environment& environment = {});
  /// Every problem of the file, not only the first; empty if `read` would succeed.
  [[nodiscard]] static std::vector<Error> check(const std::string& path, const std::vector<ConfigOverride>& overrides = {});
  /// The same, and what keeps a member of the configuration from starting: it has no layout, or this process's node, if
  /// something says which it is, is no member.
  [[nodiscard]] static std::vector<Error> check_member(const std::string& path,
                                                       const std::vector<ConfigOverride>& overrides = {});
  /// Every problem of a text.
  [[nodiscard]] static std::vector<Error> check_text(std::string_view text, const std::string& name,
                                                     const std::vector<ConfigOverride>& overrides = {},
                                                     const Environment& environment = {});
  /// An example file that names, documents and sets every key; the text of derecho.cfg.example.
  [[nodiscard]] static std::string example();
  /// A page in Markdown that explains every key; the text of docs/config.md.
  [[nodiscard]] static std::string reference();

  /// This process's id: [DERECHO] local_id.
  [[nodiscard]] NodeId local_id() const;
  /// This process's place in the view. Errors: bad_config if local_id is no member; as view().
  [[nodiscard]] Result<Rank> local_rank() const;
  [[nodiscard]] const std::string& group_name() const;  ///< 1 to 32 characters
  /// The fabric's name: "shm", "tcp", "ofi:tcp", "ofi:net", "vq:tcp", "vq:net" or "verbs", or "shm+" before one that begins
  /// otherwise: fabric::FabricName takes it apart.
  [[nodiscard]] const std::string& fabric() const;
  /// The address at which a node listens, "host:port". Empty if nothing says so, which no configuration of another fabric
  /// than shm does.
  [[nodiscard]] std::string address_of(NodeId node) const;
  /// Whether strangers could reach a member over a fabric that cannot tell them from members: such a configuration is valid
  /// only with [SPINDRIFT] network_trusted = true.
  [[nodiscard]] bool needs_trusted_network() const;
  /// Whether members prove by their keys who they are to those of other hosts: over tcp unless [SPINDRIFT] security = none;
  /// over the other fabrics between hosts unless that, and not between addresses of the loopback interface alone, for which
  /// security = tls has to be written.
  [[nodiscard]] bool proves_members() const;
  /// The directory of this node's keys; absolute.
  [[nodiscard]] std::string keys_directory() const;
  /// The directory of this node's sockets, locks and counters; absolute.
  [[nodiscard]] const std::string& runtime_directory() const;
  [[nodiscard]] Polling polling() const;  ///< of this node alone
  /// How long to look for a group to found or to join.
  [[nodiscard]] Duration join_timeout() const;
  /// The nodes that must be there to found the group's first view: in rank order, some or all of the configured members.
  /// Empty if the configuration has no layout, or whoever is present founds.
  [[nodiscard]] std::vector<NodeId> founders() const;
  /// How long a member may show no sign of life before the others remove it.
  [[nodiscard]] Duration suspect_after() const;
  /// Whether a minority may go on alone.
  [[nodiscard]] bool partitioning_safety_disabled() const;
  /// Most bytes of messages of each subgroup that a member keeps while the state is on its way, or is saved or loaded.
  [[nodiscard]] std::uint64_t state_buffer_bytes() const;
  /// As log::set_levels takes it.
  [[nodiscard]] const std::string& log_level() const;
  /// Empty: standard error.
  [[nodiscard]] const std::string& log_file() const;
  /// Empty: the audit is in the log alone.
  [[nodiscard]] const std::string& audit_file() const;
  /// Makes the log of this process as log_level and log_file say; what is set nowhere leaves it as it is. Then warns there
  /// as warn_of_unused does. Group's constructor calls it: of several configurations in one process the last wins. Errors:
  /// resource.
  [[nodiscard]] Result<void> begin_logging() const;
  /// Writes a line of the log for each key that is set and has no effect in this version: where, and which.
  void warn_of_unused() const;

  /// Any value of the table by section and key. CHECKs that the key exists and is an integer, for integer().
  [[nodiscard]] std::int64_t integer(std::string_view section, std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view section, std::string_view key) const;  ///< CHECKs as integer()
  [[nodiscard]] const std::string& text(std::string_view section, std::string_view key) const;  ///< canonical form
  /// The origin of that value, as EffectiveValue::origin says it. CHECKs that the key exists.
  [[nodiscard]] const std::string& origin(std::string_view section, std::string_view key) const;

  /// The view of all configured members, ViewId 0. Errors: bad_config if the configuration has no layout.
  [[nodiscard]] Result<View> view() const;
  /// The function that gives every view its subgroups. It shares what it needs, so it may outlive this. Errors: as view().
  [[nodiscard]] Result<LayoutFunction> layout_function() const;
  /// Over everything that members must agree on: group-wide values and the layout's plans; not over comments, order,
  /// spelling or node-local values.
  [[nodiscard]] ConfigDigest digest() const;

  /// Every value in force, in the table's order.
  [[nodiscard]] std::vector<EffectiveValue> effective() const;
  /// Notes on what is legal but worth knowing: keys without effect, environment variables that name no key,
  /// the memory that histories take.
  [[nodiscard]] const std::vector<std::string>& notes() const;
  /// The name of this configuration in errors: the path, or the name given to parse.
  [[nodiscard]] const std::string& name() const;

 private:
  friend class LayoutParts;
  friend Result<Profile> profile_of(const Config& config, std::string_view name);
  friend std::map<std::string, std::string> agreed_values(const Config& config);
  friend Result<Config> config_without_file(const std::string& group_name, const std::vector<std::string>& subgroups,
                                            const std::vector<ConfigOverride>& overrides);
  friend bool takes_free_id(const Config& config);
  friend Config as_node(const Config& config, NodeId node);
  friend Config as_node_of(const Config& config, const Roster& roster, NodeId node);
  struct State;
  explicit Config(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// The profile of that name, of section [SUBGROUP/NAME]. Errors: bad_argument: there is none; as Config::view().
[[nodiscard]] Result<Profile> profile_of(const Config& config, std::string_view name);

/// The things that members must agree on, by name: "[SPINDRIFT] suspect_after_ms" and its value, "subgroup orders" and what
/// the layout makes of it, in short. They are the same of two configurations that have the same digest, and no others.
[[nodiscard]] std::map<std::string, std::string> agreed_values(const Config& config);

}  // namespace spindrift
