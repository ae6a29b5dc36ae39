// Reading by >>, as OMG's API has it: reader >> dds::sub::take >> dds::sub::max_samples(10) >> samples.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <spindrift/dds/sub.hpp>

namespace dds::sub {

struct ReadWord {};
struct TakeWord {};
/// Steps that follow say which samples; without any, all. They stay with the reader, or do not.
inline constexpr ReadWord read{};
inline constexpr TakeWord take{};

/// A step that narrows a selection down.
template <class Narrow>
struct SelectionStep {
  Narrow narrow;
};
template <class Narrow>
SelectionStep(Narrow) -> SelectionStep<Narrow>;

[[nodiscard]] inline auto max_samples(std::uint32_t most) {
  return SelectionStep{[most](auto& selector) { selector.max_samples(most); }};
}
[[nodiscard]] inline auto state(const status::DataState& state) {
  return SelectionStep{[state](auto& selector) { selector.state(state); }};
}
[[nodiscard]] inline auto instance(const core::InstanceHandle& instance) {
  return SelectionStep{[instance](auto& selector) { selector.instance(instance); }};
}
[[nodiscard]] inline auto next_instance(const core::InstanceHandle& instance) {
  return SelectionStep{[instance](auto& selector) { selector.next_instance(instance); }};
}
[[nodiscard]] inline auto condition(const cond::ReadCondition& condition) {
  return SelectionStep{[condition](auto& selector) { selector.condition(condition); }};
}
/// In place of OMG's Query: a function of a sample's data.
template <class Matches>
[[nodiscard]] auto content(Matches matches) {
  return SelectionStep{[matches](auto& selector) { selector.content(matches); }};
}

/// A reader, and what is to be read or taken of it.
template <class T>
class SelectionChain {
 public:
  SelectionChain(const DataReader<T>& reader, bool takes) : selector_(reader.select()), takes_(takes) {}
  template <class Narrow>
  SelectionChain& operator>>(const SelectionStep<Narrow>& step) {
    return step.narrow(selector_), *this;
  }
  SelectionChain& operator>>(LoanedSamples<T>& to) {
    return to = takes_ ? selector_.take() : selector_.read(), *this;
  }

 private:
  typename DataReader<T>::Selector selector_;
  bool takes_;
};
template <class T>
[[nodiscard]] SelectionChain<T> operator>>(const DataReader<T>& reader, ReadWord) {
  return SelectionChain<T>(reader, false);
}
template <class T>
[[nodiscard]] SelectionChain<T> operator>>(const DataReader<T>& reader, TakeWord) {
  return SelectionChain<T>(reader, true);
}

}  // namespace dds::sub
