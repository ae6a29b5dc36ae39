// The first half of a multicast's pass: the order of its predicates, once for the product and for experiments that cut it
// short or measure it.
#pragma once

#include <spindrift/core/check.hpp>
#include <spindrift/smc/multicast.hpp>

namespace spindrift::smc {

template <typename Experiment>
bool Multicast::step(std::uint64_t publish_bytes_max, Experiment&& experiment) {
  SPINDRIFT_CHECK(!wedged_);
  if (fault()) return false;
  bool changed = receive(experiment.receive_batch_max());
  experiment.end_of_receive();
  if (fault()) return false;
  if (rows_.ordered() && experiment.null_sends() && ring_) queue_owed_nulls();
  experiment.end_of_null_sends();
  changed |= send(experiment.send_batch_max(), publish_bytes_max);
  experiment.end_of_send();
  if (rows_.ordered()) changed |= progress_.acknowledge();
  if (changed) rows_.table().bump_activity(rows_.id());

  changed |= read_acknowledgements();
  if (fault()) return false;
  changed |= release_space();
  experiment.end_of_stability();
  return changed;
}

}  // namespace spindrift::smc
