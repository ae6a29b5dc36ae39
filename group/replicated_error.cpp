// Exceptions as two texts, and back into what they were where that can be told.
#include <spindrift/group/replicated_error.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <typeinfo>

#include <cxxabi.h>

#include <spindrift/core/result.hpp>
#include <spindrift/group/replicated_bytes.hpp>

namespace spindrift::replicated {

namespace {

struct Standard {
  std::string_view name;
  std::exception_ptr (*make)(const std::string& message);
};

template <class T>
std::exception_ptr make(const std::string& message) {
  return std::make_exception_ptr(T(message));
}
std::exception_ptr make_bad_alloc(const std::string&) { return std::make_exception_ptr(std::bad_alloc()); }

constexpr std::array<Standard, 10> standard_types = {{
    {"std::runtime_error", make<std::runtime_error>},
    {"std::logic_error", make<std::logic_error>},
    {"std::invalid_argument", make<std::invalid_argument>},
    {"std::domain_error", make<std::domain_error>},
    {"std::length_error", make<std::length_error>},
    {"std::out_of_range", make<std::out_of_range>},
    {"std::range_error", make<std::range_error>},
    {"std::overflow_error", make<std::overflow_error>},
    {"std::underflow_error", make<std::underflow_error>},
    {"std::bad_alloc", make_bad_alloc},
}};

std::string readable(const std::type_info& type) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  const std::unique_ptr<char, decltype(&std::free)> name(demangled, &std::free);
  return status == 0 ? name.get() : type.name();
}

struct Description {
  std::string type;
  std::string message;
};

Description describe_thrown(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ReplicaError& passed_on) {
    return {passed_on.type_name(), passed_on.what()};
  } catch (const std::exception& exception) {
    return {readable(typeid(exception)), exception.what()};
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return {type == nullptr ? "an unknown type" : readable(*type), "something that is no std::exception"};
  }
}

}  // namespace

void put_exception(std::vector<std::byte>& to, const std::exception_ptr& thrown) {
  Description description = describe_thrown(thrown);
  description.type.resize(std::min(description.type.size(), exception_text_max));
  description.message.resize(std::min(description.message.size(), exception_text_max));
  put(to, description.type, description.message);
}

std::exception_ptr take_exception(std::span<const std::byte> from) {
  Description description;
  take(from, description.type, description.message);
  for (const Standard& standard : standard_types) {
    if (standard.name == description.type) return standard.make(description.message);
  }
  return std::make_exception_ptr(ReplicaError(description.type, description.message));
}

}  // namespace spindrift::replicated
