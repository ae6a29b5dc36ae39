// libfabric, loaded at run time, once in a process, and handles that close what it gave. Loaded when it is first asked for,
// so that a process that never leaves its host does not need it, and a site's own libfabric takes the place of Debian's.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string_view>

#include <spindrift/core/result.hpp>

namespace spindrift::fabric::ofi {

/// The functions of libfabric that are no inline calls through an object.
struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

/// Loads it if it is not yet; any thread. It stays loaded: objects of it may live as long as the process. Errors:
/// unsupported.
[[nodiscard]] Result<const Library*> library();
/// After a `library` that succeeded.
[[nodiscard]] const Library& loaded_library();

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

}  // namespace spindrift::fabric::ofi
