// The words of unions that are asked for what they have not.
#include <spindrift/dds/union_value.hpp>

#include <spindrift/dds/core.hpp>

namespace spindrift::topics {

void refuse_member() {
  throw dds::core::PreconditionNotMetError(
      "a union: another member is there than the one that is asked for; fix: look at _d() before");
}
void refuse_discriminator() {
  throw dds::core::InvalidArgumentError(
      "a union: the discriminator is of another member; fix: give one of this member's, or leave it out");
}

}  // namespace spindrift::topics
