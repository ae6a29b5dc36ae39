// A sample's information, from what the cache knows.
#include <spindrift/dds/data_state.hpp>

namespace dds::sub {

namespace {
std::int32_t count(std::uint32_t number) { return static_cast<std::int32_t>(number); }
}  // namespace

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
