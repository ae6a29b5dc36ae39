// How a thread sleeps until queues of a libfabric fabric have something: which descriptor tells, and when to rely on it.
//
// The provider `net` of libfabric 1.16 and 1.17 answers fi_trywait without taking back the signal that its last completion
// left in the queue's wait object: from then on the descriptor is readable for ever, and who sleeps on it spins. To wait on
// a wait set for no time takes signals back, so queues of `net` are opened in wait sets of ours.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <string_view>

#include <spindrift/fabric/ofi/library.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::ofi {

/// Of the queues of one fid_fabric that it opened; goes after them and before the fabric. One thread at a time.
class Waiting {
 public:
  Waiting() = default;
  /// `provider`: the fabric's, as libfabric names it. Errors: resource.
  [[nodiscard]] static Result<Waiting> open(fid_fabric& fabric, std::string_view provider);

  /// Its size and format are the caller's. Errors: resource.
  [[nodiscard]] Result<Handle<fid_cq>> open_completions(fid_domain& domain, fi_cq_attr attributes) const;
  /// Errors: resource.
  [[nodiscard]] Result<Handle<fid_eq>> open_events() const;
  /// Readable when that queue has something; completion queues may share it. Errors: resource.
  [[nodiscard]] Result<int> descriptor_of(fid& queue) const;
  /// Whether nothing is in these queues, and their descriptor is readable as soon as something is. Makes progress, so other
  /// queues of the same fabric may have got something. `events` may be null.
  [[nodiscard]] bool may_block(fid_cq& completions, fid_eq* events) const noexcept;

 private:
  fid_fabric* fabric_ = nullptr;
  // Null: each queue has a wait object of its own.
  Handle<fid_wait> of_events_;
  Handle<fid_wait> of_completions_;
};

}  // namespace spindrift::fabric::ofi
