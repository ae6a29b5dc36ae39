// A reader's samples: what came and was not taken, by instance, with the states that DDS gives samples, views of instances
// and instances (DDS 1.4, 2.2.2.5.1). It is bounded as the reader's History and ResourceLimits say.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <spindrift/dds/sample_message.hpp>

namespace spindrift::topics {

// The bits of states, by OMG's numbers.
inline constexpr std::uint32_t sample_read = 1, sample_not_read = 2;
inline constexpr std::uint32_t view_new = 1, view_not_new = 2;
inline constexpr std::uint32_t instance_alive = 1, instance_disposed = 2, instance_no_writers = 4;

/// The bounds and rules of a reader's cache. A count of 0 is no bound.
struct CacheRules {
  std::size_t depth = 1;  ///< of each instance; 0: all
  std::size_t samples_max = 0;
  std::size_t instances_max = 0;
  std::size_t instance_samples_max = 0;
  std::int64_t separation_ns = 0;  ///< a sample of an instance that came sooner than so behind another's is left out
  std::int64_t no_writers_ns_max = endless;  ///< so long samples of an instance without writers stay
  std::int64_t disposed_ns_max = endless;    ///< and of one that was disposed of
  bool exclusive = false;                    ///< one writer at a time, the strongest
  bool by_source = false;                    ///< in the order of the writers' clocks
  bool waits = false;  ///< reliable, of a history of all: nothing is dropped; `full` says that nothing more is to come
};

/// A sample as it is handed out, with what is known of it then.
struct ReadSample {
  std::shared_ptr<const void> data;  ///< null: only its instance's state changed
  Digest instance;
  EndpointId writer;
  std::int64_t source_timestamp = 0;
  std::uint32_t sample_state = sample_not_read;
  std::uint32_t view_state = view_new;
  std::uint32_t instance_state = instance_alive;
  std::uint32_t disposed_generation = 0;
  std::uint32_t no_writers_generation = 0;
  std::uint32_t sample_rank = 0;               ///< so many of its instance are behind it in what is handed out
  std::uint32_t generation_rank = 0;           ///< generations between it and the last of its instance in what is handed out
  std::uint32_t absolute_generation_rank = 0;  ///< and the last that came
};

/// The samples that a call asks for.
struct SampleSelection {
  std::uint32_t sample_states = 3;
  std::uint32_t view_states = 3;
  std::uint32_t instance_states = 7;
  std::size_t most = SIZE_MAX;
  std::optional<Digest> instance{};
  bool from_first = false;                     ///< the first instance of which there are such samples
  std::optional<Digest> behind{};              ///< the first instance behind that one of which there are such samples
  std::function<bool(const void*)> matches{};  ///< empty: all; not asked of samples without data
};

/// Not thread-safe.
class SampleCache {
 public:
  enum class Outcome : std::uint8_t {
    stored,
    overwrote,           ///< stored, and one that nobody had read was dropped for it
    unwanted,            ///< left out by a filter, by ownership, or expired
    no_room,             ///< dropped: too many samples
    too_many_instances,  ///< dropped
    unknown,             ///< news of an instance that this reader has not
  };

  explicit SampleCache(const CacheRules& rules) : rules_(rules) {}
  /// From now on samples that come sooner than so are left out.
  void change_separation(std::int64_t separation_ns) noexcept { rules_.separation_ns = separation_ns; }
  void change_lifecycle(std::int64_t no_writers_ns_max, std::int64_t disposed_ns_max) noexcept;
  /// Lets samples go whose instance has been without life for as long as they stay. When to look again.
  [[nodiscard]] std::int64_t purge(std::int64_t now_ns);
  /// The instances that are alive.
  [[nodiscard]] std::vector<Digest> alive() const;

  /// Takes in what a writer says. `data` is null for news without a sample. `strength`: the writer's.
  Outcome add(const SampleEnvelope& header, std::shared_ptr<const void> data, std::int32_t strength, std::int64_t now_ns);
  /// That writer is gone: instances that it alone wrote have no writers. Whether that changed any.
  bool on_gone(const EndpointId& writer, std::int64_t now_ns);
  /// Hands out, and lets go of where `take`.
  [[nodiscard]] std::vector<ReadSample> get(const SampleSelection& asked, bool take, std::int64_t now_ns);
  /// Whether `get` would hand out something.
  [[nodiscard]] bool any(const SampleSelection& which, std::int64_t now_ns) const;
  /// Whether a reader that waits has no room for more.
  [[nodiscard]] bool full() const;
  [[nodiscard]] std::size_t size() const noexcept { return samples_.size(); }
  /// A sample of the instance, which has its keys. Null: there is none.
  [[nodiscard]] std::shared_ptr<const void> key_value(const Digest& instance) const;

 private:
  /// The order in which samples are handed out.
  using Place = std::pair<std::int64_t, std::uint64_t>;
  struct Instance;
  struct Stored {
    ReadSample sample;
    Instance* instance = nullptr;
    std::int64_t expires_ns = endless;
  };
  using Samples = std::map<Place, Stored>;
  struct Instance {
    std::set<Place> samples;
    std::set<EndpointId> writers;
    std::shared_ptr<const void> key;  // a sample of it
    std::uint32_t view_state = view_new;
    std::uint32_t state = instance_alive;
    std::uint32_t disposed_generation = 0;
    std::uint32_t no_writers_generation = 0;
    std::int64_t ended_ns = 0;                // when it came to its state, if it is not alive
    std::optional<std::int64_t> last_source;  // of a sample that was taken in
    std::optional<std::pair<std::int32_t, EndpointId>> owner;
  };
  using Instances = std::map<std::array<std::uint64_t, 2>, Instance>;
  /// The nodes of samples that went, for those that come: a cache in steady use asks for no memory.
  struct Spare {
    std::vector<Samples::node_type> samples;
    std::vector<std::set<Place>::node_type> places;
  };
  /// A sample that is handed out.
  struct Handed {
    Samples::iterator at;
    Instance* instance;
  };

  Outcome store(Instance& instance, const SampleEnvelope& header, std::shared_ptr<const void> data);
  Outcome make_room(Instance& instance);
  [[nodiscard]] bool wanted(Instance& instance, const SampleEnvelope& header, std::int32_t strength) const;
  void revive(Instance& instance);
  Outcome change(Instance& instance, const SampleEnvelope& header, SampleKind kind, std::int64_t now_ns);
  [[nodiscard]] static bool selects(const SampleSelection& which, const Stored& stored, std::int64_t now_ns);
  [[nodiscard]] std::optional<Digest> next_instance(const SampleSelection& which, std::int64_t now_ns) const;
  /// The samples that are handed out, and those that have expired before the last of them.
  [[nodiscard]] std::pair<std::vector<Handed>, std::vector<Samples::iterator>> select(const SampleSelection& which,
                                                                                      std::int64_t now_ns);
  void drop(Samples::iterator stored);
  static void rank(std::vector<ReadSample>& samples, const std::vector<Handed>& handed);
  void forget_if_done(const Digest& key);

  CacheRules rules_;
  Samples samples_;
  Instances instances_;
  Spare spare_;
  std::uint64_t next_ = 0;
};

}  // namespace spindrift::topics
