// The states of samples, of views and of instances, and what a reader says of each sample.
#pragma once

#include <cstdint>
#include <string>

#include <spindrift/dds/read_sample.hpp>
#include <spindrift/dds/core.hpp>

namespace dds::sub::status {

/// A set of states of one kind, by OMG's bits. `(a & b).any()`: they have states in common.
template <int which>
class StateSet {
 public:
  constexpr explicit StateSet(std::uint32_t bits) noexcept : bits_(bits) {}
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  constexpr bool operator==(const StateSet&) const noexcept = default;
  friend constexpr StateSet operator|(StateSet some, StateSet others) noexcept {
    return StateSet(some.bits_ | others.bits_);
  }
  friend constexpr StateSet operator&(StateSet some, StateSet others) noexcept {
    return StateSet(some.bits_ & others.bits_);
  }
  [[nodiscard]] constexpr unsigned long to_ulong() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool any() const noexcept { return bits_ != 0; }
  [[nodiscard]] constexpr bool none() const noexcept { return bits_ == 0; }

 private:
  std::uint32_t bits_;
};

class SampleState : public StateSet<1> {
 public:
  using StateSet::StateSet;
  constexpr SampleState(StateSet set) noexcept : StateSet(set) {}  // NOLINT: implicit by design
  /// The names of its states, as "READ|NOT_READ"; "none" of an empty set.
  [[nodiscard]] std::string to_string() const;
  static constexpr SampleState read() noexcept { return SampleState(1); }
  static constexpr SampleState not_read() noexcept { return SampleState(2); }
  static constexpr SampleState any() noexcept { return SampleState(3); }
};
class ViewState : public StateSet<2> {
 public:
  using StateSet::StateSet;
  constexpr ViewState(StateSet set) noexcept : StateSet(set) {}  // NOLINT: implicit by design
  [[nodiscard]] std::string to_string() const;
  static constexpr ViewState new_view() noexcept { return ViewState(1); }
  static constexpr ViewState not_new_view() noexcept { return ViewState(2); }
  static constexpr ViewState any() noexcept { return ViewState(3); }
};
class InstanceState : public StateSet<3> {
 public:
  using StateSet::StateSet;
  constexpr InstanceState(StateSet set) noexcept : StateSet(set) {}  // NOLINT: implicit by design
  [[nodiscard]] std::string to_string() const;
  static constexpr InstanceState alive() noexcept { return InstanceState(1); }
  static constexpr InstanceState not_alive_disposed() noexcept { return InstanceState(2); }
  static constexpr InstanceState not_alive_no_writers() noexcept { return InstanceState(4); }
  static constexpr InstanceState not_alive_mask() noexcept { return InstanceState(6); }
  static constexpr InstanceState any() noexcept { return InstanceState(7); }
};

/// One set of each kind.
class DataState {
 public:
  DataState() = default;
  explicit DataState(SampleState sample, ViewState view = ViewState::any(), InstanceState instance = InstanceState::any())
      : sample_(sample), view_(view), instance_(instance) {}
  static DataState any() { return {}; }
  static DataState new_data() { return DataState(SampleState::not_read(), ViewState::any(), InstanceState::alive()); }
  static DataState any_data() { return DataState(SampleState::any(), ViewState::any(), InstanceState::alive()); }
  static DataState new_instance() { return DataState(SampleState::any(), ViewState::new_view(), InstanceState::alive()); }

  DataState& operator<<(SampleState state) { return sample_ = state, *this; }
  DataState& operator<<(ViewState state) { return view_ = state, *this; }
  DataState& operator<<(InstanceState state) { return instance_ = state, *this; }
  [[nodiscard]] SampleState sample_state() const { return sample_; }
  [[nodiscard]] ViewState view_state() const { return view_; }
  [[nodiscard]] InstanceState instance_state() const { return instance_; }
  bool operator==(const DataState&) const = default;

  /// spindrift's own: into a selection.
  void put(spindrift::topics::SampleSelection& to) const {
    to.sample_states = sample_.bits();
    to.view_states = view_.bits();
    to.instance_states = instance_.bits();
  }

 private:
  SampleState sample_ = SampleState::any();
  ViewState view_ = ViewState::any();
  InstanceState instance_ = InstanceState::any();
};

}  // namespace dds::sub::status

namespace dds::sub {

using status::DataState;

/// How many of its instance, or generations of that, are behind a sample.
class Rank {
 public:
  Rank(std::int32_t sample, std::int32_t generation, std::int32_t absolute_generation)
      : sample_(sample), generation_(generation), absolute_generation_(absolute_generation) {}
  [[nodiscard]] std::int32_t sample() const { return sample_; }
  [[nodiscard]] std::int32_t generation() const { return generation_; }
  [[nodiscard]] std::int32_t absolute_generation() const { return absolute_generation_; }

 private:
  std::int32_t sample_;
  std::int32_t generation_;
  std::int32_t absolute_generation_;
};

/// How often an instance had come to life again when a sample came.
class GenerationCount {
 public:
  GenerationCount(std::int32_t disposed, std::int32_t no_writers) : disposed_(disposed), no_writers_(no_writers) {}
  [[nodiscard]] std::int32_t disposed() const { return disposed_; }
  [[nodiscard]] std::int32_t no_writers() const { return no_writers_; }

 private:
  std::int32_t disposed_;
  std::int32_t no_writers_;
};

class SampleInfo {
 public:
  SampleInfo() : SampleInfo(spindrift::topics::ReadSample()) {}
  explicit SampleInfo(const spindrift::topics::ReadSample& read);
  [[nodiscard]] bool valid() const { return valid_; }                ///< there are data, not only news of the instance
  [[nodiscard]] core::Time timestamp() const { return timestamp_; }  ///< when it was written, by the writer's clock
  [[nodiscard]] const status::DataState& state() const { return state_; }
  [[nodiscard]] core::InstanceHandle instance_handle() const { return instance_; }
  [[nodiscard]] core::InstanceHandle publication_handle() const { return publication_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] GenerationCount generation_count() const { return generation_count_; }

 private:
  bool valid_;
  core::Time timestamp_;
  status::DataState state_;
  core::InstanceHandle instance_;
  core::InstanceHandle publication_;
  Rank rank_;
  GenerationCount generation_count_;
};

}  // namespace dds::sub
