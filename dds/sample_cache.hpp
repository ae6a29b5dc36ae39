// A reader's samples: what came and was not taken, by instance, with the states that DDS gives samples, views of instances
// and instances (DDS 1.4, 2.2.2.5.1). It is bounded as the reader's History and ResourceLimits say.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <spindrift/dds/read_sample.hpp>
#include <spindrift/dds/sample_message.hpp>

namespace spindrift::topics {

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
  ~SampleCache();
  SampleCache(const SampleCache&) = delete;
  SampleCache& operator=(const SampleCache&) = delete;
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
  [[nodiscard]] std::size_t size() const noexcept { return stored_.size(); }
  /// A sample of the instance, which has its keys. Null: there is none.
  [[nodiscard]] std::shared_ptr<const void> key_value(const Digest& instance) const;

 private:
  struct Instance;
  using Hook = boost::intrusive::list_member_hook<>;
  /// A sample in two chains, each in the order in which samples are handed out: that of their coming, or of the writers'
  /// clocks.
  struct Stored {
    ReadSample sample;
    Instance* instance = nullptr;
    std::int64_t expires_ns = endless;
    Hook in_order{};     ///< among all, or among what is spare
    Hook in_instance{};  ///< among those of its instance
  };
  using Samples = boost::intrusive::list<Stored, boost::intrusive::member_hook<Stored, Hook, &Stored::in_order>>;
  struct Instance {
    boost::intrusive::list<Stored, boost::intrusive::member_hook<Stored, Hook, &Stored::in_instance>> samples{};
    std::set<EndpointId> writers{};
    std::shared_ptr<const void> key{};  // a sample of it
    std::uint32_t view_state = view_new;
    std::uint32_t state = instance_alive;
    std::uint32_t disposed_generation = 0;
    std::uint32_t no_writers_generation = 0;
    std::int64_t ended_ns = 0;                  // when it came to its state, if it is not alive
    std::optional<std::int64_t> last_source{};  // of a sample that was taken in
    std::optional<std::pair<std::int32_t, EndpointId>> owner{};
  };
  using Instances = std::map<std::array<std::uint64_t, 2>, Instance>;
  /// Samples by a call: those that it hands out, and others whose time is over.
  struct Found {
    std::vector<Stored*> asked{};
    std::vector<Stored*> expired{};
  };

  Outcome store(Instance& instance, const SampleEnvelope& header, std::shared_ptr<const void> data);
  Outcome make_room(Instance& instance);
  [[nodiscard]] bool wanted(Instance& instance, const SampleEnvelope& header, std::int32_t strength) const;
  void revive(Instance& instance);
  Outcome change(Instance& instance, const SampleEnvelope& header, SampleKind kind, std::int64_t now_ns);
  [[nodiscard]] static bool selects(const SampleSelection& which, const Stored& stored, std::int64_t now_ns);
  [[nodiscard]] std::optional<Digest> next_instance(const SampleSelection& which, std::int64_t now_ns) const;
  [[nodiscard]] Found find(const SampleSelection& which, std::int64_t now_ns);
  /// The place in the chain of a sample with that time: as a rule its end, for only what overtook the sample is behind it.
  template <class Chain>
  [[nodiscard]] typename Chain::iterator place_in(Chain& chain, std::int64_t source_timestamp) const;
  void drop(Stored& stored);
  static void rank(std::vector<ReadSample>& samples, const std::vector<Stored*>& stored);
  void forget_if_done(const Digest& key);

  CacheRules rules_;
  Samples stored_;
  Samples spare_;  // the memory of samples that went, for those that come
  Instances instances_;
};

}  // namespace spindrift::topics
