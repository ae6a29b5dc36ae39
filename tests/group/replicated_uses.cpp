// Ordinary uses of a replicated object, which programs compile with warnings as errors; read by warnings.sh.
#include <spindrift/replicated.hpp>

#include <string>
#include <vector>

struct Register {
  std::uint64_t add(std::uint64_t amount) { return total += amount; }
  std::string name(std::uint64_t amount) { return std::to_string(total += amount); }
  void clear() { total = 0; }
  std::vector<std::string> names() const { return {std::to_string(total)}; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(total);
  }
  std::uint64_t total = 0;
  using Methods = spindrift::Replicates<&Register::add, &Register::name, &Register::clear, &Register::names>;
};
using Handle = spindrift::Replicated<Register>;

Handle attach(spindrift::Group& group) { return group.replicated<Register>("register"); }
std::size_t replicas(Handle& handle) { return handle.update<&Register::add>(1u).all().size(); }
std::string own(Handle& handle) { return handle.post<&Register::name>(1u).get(); }
void first(Handle& handle) { handle.update<&Register::clear>().all().at(0).value(); }
std::vector<std::string> ordered(Handle& handle) { return handle.ordered_query<&Register::names>().get(); }
std::string each(Handle& handle) {
  std::string text;
  for (const auto& result : handle.update<&Register::name>(1u).all()) {
    text += result.ok() ? result.value() : result.exception() ? "threw" : "lost";
  }
  return text;
}
std::vector<std::string> there(Handle& handle) { return handle.query_at<&Register::names>(spindrift::NodeId(1)).get(); }
std::vector<std::string> there_in_order(Handle& handle) {
  return handle.ordered_query_at<&Register::names>(spindrift::NodeId(1)).get();
}
std::size_t everywhere(Handle& handle) {
  std::size_t names = 0;
  for (const auto& result : handle.query_all<&Register::names>().get()) names += result.ok() ? result.value().size() : 0;
  for (const auto& result : handle.ordered_query_all<&Register::names>().all()) names += result.ok() ? 1 : 0;
  return names;
}
std::uint64_t once(Handle& handle, std::uint64_t number) {
  const spindrift::ClientSessionId session = handle.open_session().get();
  const spindrift::ClientRequest request{.session = session, .number = number, .settled = number};
  handle.update_once<&Register::clear>(request).get();
  const std::uint64_t total = handle.update_once<&Register::add>({session, number + 1, number}, 1u).get();
  handle.close_session(session).get();
  return total;
}
