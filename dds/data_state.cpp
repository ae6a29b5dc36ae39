// A sample's information, from what the cache knows, and the names of its states.
#include <spindrift/dds/data_state.hpp>

#include <array>
#include <span>
#include <string_view>

namespace dds::sub {

namespace {
std::int32_t count(std::uint32_t number) { return static_cast<std::int32_t>(number); }

/// `names`: of the bits, from the lowest on.
std::string names_in(std::uint32_t bits, std::span<const std::string_view> names) {
  std::string all;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if ((bits >> at & 1U) == 0) continue;
    if (!all.empty()) all += '|';
    all += names[at];
  }
  return all.empty() ? "none" : all;
}

constexpr std::array<std::string_view, 2> sample_states{"READ", "NOT_READ"};
constexpr std::array<std::string_view, 2> view_states{"NEW", "NOT_NEW"};
constexpr std::array<std::string_view, 3> instance_states{"ALIVE", "NOT_ALIVE_DISPOSED", "NOT_ALIVE_NO_WRITERS"};
}  // namespace

namespace status {
std::string SampleState::to_string() const { return names_in(bits(), sample_states); }
std::string ViewState::to_string() const { return names_in(bits(), view_states); }
std::string InstanceState::to_string() const { return names_in(bits(), instance_states); }
}  // namespace status

SampleInfo::SampleInfo(const spindrift::topics::ReadSample& read)
    : valid_(read.data != nullptr),
      timestamp_(core::Time::from_nanosecs(read.source_timestamp)),
      state_(status::SampleState(read.sample_state), status::ViewState(read.view_state),
             status::InstanceState(read.instance_state)),
      instance_(read.instance),
      publication_(read.writer.name()),
      rank_(count(read.sample_rank), count(read.generation_rank), count(read.absolute_generation_rank)),
      generation_count_(count(read.disposed_generation), count(read.no_writers_generation)) {}

}  // namespace dds::sub
