// Debian's libfabric is linked with libinfinipath (of PSM), whose constructor sets handlers of SIGINT, SIGTERM, SIGABRT and
// SIGSEGV among others. They write a backtrace into a file in the current directory and end the process with status 1: no
// core, no death by the signal, and a SIGTERM that looks like a failure. IPATH_NO_BACKTRACE would stop it, but to set a
// variable while other threads may read the environment is a race; so the handlers are undone.
#include <spindrift/fabric/load_library.hpp>

#include <dlfcn.h>
#include <link.h>
#include <signal.h>

#include <cstddef>
#include <map>
#include <set>

namespace spindrift::fabric {
namespace {

using Places = std::set<ElfW(Addr)>;  // where libraries are loaded

Places loaded_libraries() {
  Places places;
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    static_cast<Places*>(to)->insert(info->dlpi_addr);
    return 0;
  };
  ::dl_iterate_phdr(add, &places);
  return places;
}

/// Whether it lies in a library that is none of those. The values that stand for no handler lie in none.
bool is_new(const struct sigaction& action, const Places& before) {
  const void* const handler = (action.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<const void*>(action.sa_sigaction)
                                                                  : reinterpret_cast<const void*>(action.sa_handler);
  Dl_info symbol{};
  void* library = nullptr;
  if (::dladdr1(handler, &symbol, &library, RTLD_DL_LINKMAP) == 0) return false;
  return !before.contains(static_cast<const link_map*>(library)->l_addr);
}

/// Null: see dlerror.
void* load(const char* name) {
  const Places before = loaded_libraries();
  std::map<int, struct sigaction> actions;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (struct sigaction action{}; ::sigaction(signal, nullptr, &action) == 0) actions.emplace(signal, action);
  }
  void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  for (const auto& [signal, action] : actions) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && is_new(now, before)) {
      static_cast<void>(::sigaction(signal, &action, nullptr));
    }
  }
  return library;
}

}  // namespace

LoadedLibrary::LoadedLibrary(const char* name) : name_(name), handle_(load(name)) {
  if (handle_ != nullptr) return;
  const char* const reason = ::dlerror();
  error_ = reason == nullptr ? "?" : reason;
}

void* LoadedLibrary::symbol(const char* name) const { return handle_ == nullptr ? nullptr : ::dlsym(handle_, name); }

}  // namespace spindrift::fabric
