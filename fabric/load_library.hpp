// Loading a library without letting it, or what it brings along, change how the process takes signals.
#pragma once

#include <string>

namespace spindrift::fabric {

// A table of a library's calls is made of a list that names each once, `CALLS(CALL)` with `CALL(field, function)` for each:
// in the table `CALLS(SPINDRIFT_CALL_FIELD)`, and to fill it, with `loaded` and `table` in reach,
// `CALLS(SPINDRIFT_FIND_CALL)`.
#define SPINDRIFT_CALL_FIELD(field, function) decltype(&::function) field = nullptr;
#define SPINDRIFT_FIND_CALL(field, function) loaded.find(table.field, #function);

/// A library that is loaded, its own symbols for itself, by its constructor, and never unloaded: objects of it may live as
/// long as the process. After loading no signal goes to a handler that came with it; a handler that another thread sets
/// meanwhile stays. Threading: any thread, as long as nobody else uses this object.
class LoadedLibrary {
 public:
  /// Errors: see `loaded`. `name` outlives this.
  explicit LoadedLibrary(const char* name);

  /// Whether there is such a library.
  [[nodiscard]] bool loaded() const noexcept { return handle_ != nullptr; }
  /// Why it is not loaded, or the first function that `find` missed; empty if all is there.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

  /// The function of that name, which the library must have; null and an `error` if it has not.
  template <class Function>
  LoadedLibrary& find(Function& function, const char* name) {
    find_if_there(function, name);
    if (function == nullptr && error_.empty()) error_ = std::string(name_) + " has no " + name;
    return *this;
  }
  /// The same, null if it has none.
  template <class Function>
  LoadedLibrary& find_if_there(Function& function, const char* name) {
    function = reinterpret_cast<Function>(symbol(name));
    return *this;
  }

 private:
  [[nodiscard]] void* symbol(const char* name) const;

  const char* name_;
  void* handle_;
  std::string error_;
};

}  // namespace spindrift::fabric
