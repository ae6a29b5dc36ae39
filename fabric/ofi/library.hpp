// libfabric, loaded at run time, once in a process, handles that close what it gave, and how a thread waits for its queues.
// Loaded when it is first asked for, so that a process that never leaves its host does not need it, and a site's own
// libfabric takes the place of Debian's.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <memory>
#include <string_view>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/load_library.hpp>

namespace spindrift::fabric::ofi {

// The names of the calls here, and in libfabric: those that are no inline calls through an object.
#define SPINDRIFT_LIBFABRIC_CALLS(CALL) \
  CALL(getinfo, fi_getinfo)             \
  CALL(freeinfo, fi_freeinfo)           \
  CALL(dupinfo, fi_dupinfo)             \
  CALL(fabric, fi_fabric)               \
  CALL(strerror, fi_strerror)

struct LibfabricCalls {
  SPINDRIFT_LIBFABRIC_CALLS(SPINDRIFT_CALL_FIELD)
};

/// Loads it if it is not yet; any thread. It stays loaded: objects of it may live as long as the process. Errors:
/// unsupported.
[[nodiscard]] Result<const LibfabricCalls*> library();
/// After a `library` that succeeded.
[[nodiscard]] const LibfabricCalls& loaded_library();

/// Closes a libfabric object.
struct Close {
  template <class Fid>
  void operator()(Fid* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class Fid>
using Handle = std::unique_ptr<Fid, Close>;

struct FreeInfo {
  void operator()(fi_info* info) const noexcept;
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

/// `code`: as libfabric's functions return it or as its queues tell it, of either sign.
[[nodiscard]] Error ofi_error(std::string_view what, long code);
/// `code`: of the call named `what`. Errors: resource, unless it is 0.
[[nodiscard]] inline Result<void> outcome_of(std::string_view what, long code) {
  return code == 0 ? Result<void>() : ofi_error(what, code);
}
/// Returns the object that the call named `what` opens: `open(Fid**)` is its code. Errors: resource.
template <class Fid, class Open>
[[nodiscard]] Result<Handle<Fid>> made_by(std::string_view what, const Open& open) {
  Fid* object = nullptr;
  SPINDRIFT_TRY(outcome_of(what, open(&object)));
  return Handle<Fid>(object);
}

/// How a thread sleeps until queues of a libfabric fabric have something: which descriptor tells, and when to rely on it.
/// The queues are those of one fid_fabric that it opened; it goes after them and before the fabric. One thread at a time.
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
