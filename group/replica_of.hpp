// The replica of an object of some type: its calls become messages, and messages calls of its methods.
//
// To remember: only the poller thread changes the object, or `load` while the poller delivers nothing, and holds
// `object_mutex_` alone while it does; others read under it.
#pragma once

#include <array>
#include <cstring>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <shared_mutex>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <spindrift/group/replicated_bytes.hpp>
#include <spindrift/group/replicated_core.hpp>
#include <spindrift/group/replicated_error.hpp>
#include <spindrift/group/replicated_future.hpp>

namespace spindrift {

template <class T>
class ReplicaCore final : public ReplicaBase {
 public:
  using Methods = typename MethodsOf<T>::type;

  template <class... Arguments>
  explicit ReplicaCore(ReplicaChannel& channel, Arguments&&... arguments)
      : ReplicaBase(channel, replicated::method_lists<Methods>(typename FormerMethodsOf<T>::type{})),
        object_(make(progress(), std::forward<Arguments>(arguments)...)) {}

  /// A call at its place of the order; `wants_answers` of all replicas.
  template <auto method, class... Given>
  auto call(bool wants_answers, Given&&... given) {
    using Traits = replicated::Traits<method>;
    using Returned = typename Traits::Result;
    constexpr bool fits = check<method>() && check_given<method, Given...>();
    std::shared_ptr<replicated::CallOf<Returned>> started;
    if constexpr (fits) {
      const Ask ask = wants_answers ? Ask::all : Traits::is_const ? Ask::own : Ask::apply;
      std::vector<std::byte> message = request<method>(sizeof(Request), std::forward<Given>(given)...);
      started = std::make_shared<replicated::CallOf<Returned>>(handlers(), way());
      start(message, position<method>, ask, started);
    }
    return Future<Returned>(std::move(started));
  }

  /// A client's request at its place of the order.
  template <auto method, class... Given>
  auto call_once(const ClientRequest& of, Given&&... given) {
    using Returned = typename replicated::Traits<method>::Result;
    constexpr bool fits = check<method>() && check_given<method, Given...>();
    std::shared_ptr<replicated::CallOf<Returned>> started;
    if constexpr (fits) {
      replicated::require_open(of, progress().channel());
      std::vector<std::byte> message = request<method>(sizeof(Request) + sizeof of, std::forward<Given>(given)...);
      std::memcpy(message.data() + sizeof(Request), &of, sizeof of);
      started = std::make_shared<replicated::CallOf<Returned>>(handlers(), way());
      start(message, position<method>, Ask::once, started);
    }
    return Future<Returned>(std::move(started));
  }
  Future<ClientSessionId> open_session() {
    return start_words<ClientSessionId>(Ask::open, replicated::new_session_word(progress().channel()));
  }
  Future<void> close_session(const ClientSessionId& session) { return start_words<void>(Ask::close, session); }

  /// A query of one replica at its place of the order.
  template <auto method, class... Given>
  auto call_at(NodeId of, Given&&... given) {
    using Returned = typename replicated::Traits<method>::Result;
    constexpr bool fits = check<method>() && check_given<method, Given...>();
    std::shared_ptr<replicated::CallOf<Returned>> started;
    if constexpr (fits) {
      std::vector<std::byte> message = request<method>(sizeof(Request) + sizeof(Place), std::forward<Given>(given)...);
      started = std::make_shared<replicated::CallOf<Returned>>(handlers(), replicated::CallWay::chosen);
      start_at(message, position<method>, of, started);
    }
    return started;
  }

  /// A query of one replica, or of all, beside the order.
  template <auto method, class... Given>
  auto query(std::optional<NodeId> of, Given&&... given) {
    using Returned = typename replicated::Traits<method>::Result;
    constexpr bool fits = check<method>() && check_given<method, Given...>();
    std::shared_ptr<replicated::CallOf<Returned>> started;
    if constexpr (fits) {
      std::vector<std::byte> message = request<method>(sizeof(Request), std::forward<Given>(given)...);
      started = std::make_shared<replicated::CallOf<Returned>>(handlers(), replicated::CallWay::chosen);
      start_query(message, position<method>, of, started);
    }
    return started;
  }

  template <auto method, class... Given>
  auto read(Given&&... given) const {
    using Returned = typename replicated::Traits<method>::Result;
    if constexpr (check_given<method, Given...>()) {
      state().await_loaded({});
      require_membership();
      // The poller alone writes; it may be here from within a method of the object, and then holds the lock.
      std::shared_lock lock(object_mutex_, std::defer_lock);
      if (!handlers()->is_poller()) lock.lock();
      const replicated::MethodScope scope(progress(), replicated::MethodScope::Kind::query);
      return static_cast<Returned>((object_.*method)(std::forward<Given>(given)...));
    }
  }

  [[nodiscard]] Result<void> save(std::ostream& to) const override {
    using Stage = replicated::ReplicaState::Stage;
    if (state().stage() == Stage::given_up) return state().none_to_save(progress().channel().self());
    std::vector<std::byte> bytes = begin_state(form);
    replicated::ValueWriter writer(bytes, &to);
    try {
      const std::shared_lock lock(object_mutex_);
      if constexpr (streams) {
        std::ostringstream text;  // its length comes first
        object_.save(text);
        writer(std::move(text).str());
      } else if constexpr (archives) {
        writer(object_);
      }
      writer.flush();
    } catch (const std::exception& failure) {
      return Error(ErrorKind::resource, "the state of a replicated object could not be saved")
          .because(Error(ErrorKind::resource, failure.what()));
    }
    return {};
  }

  [[nodiscard]] Result<void> load(std::span<const std::byte> state) override {
    SPINDRIFT_TRY_ASSIGN(const std::span<const std::byte> object, open_state(state, form));
    try {
      const std::unique_lock lock(object_mutex_);
      load_object(object);
    } catch (const std::exception& broken) {
      return Error(ErrorKind::bad_input, "the state of a replicated object cannot be read")
          .because(Error(ErrorKind::bad_input, broken.what()));
    }
    return {};
  }

  [[nodiscard]] std::optional<Error> untransferable() const override {
    if (form != StateForm::none) return std::nullopt;
    return no_way_to_travel();
  }

 private:
  [[nodiscard]] replicated::CallWay way() const {
    return progress().channel().logged() ? replicated::CallWay::logged : replicated::CallWay::ordered;
  }

  /// A call of no method, of those words.
  template <class Returned, class Words>
  Future<Returned> start_words(Ask ask, const Words& words) {
    std::vector<std::byte> message(sizeof(Request) + sizeof words);
    std::memcpy(message.data() + sizeof(Request), &words, sizeof words);
    auto started = std::make_shared<replicated::CallOf<Returned>>(handlers(), way());
    start(message, 0, ask, started);
    return Future<Returned>(std::move(started));
  }

  template <auto method>
  static constexpr auto position = static_cast<std::uint32_t>(replicated::position_in<method, Methods>);

  /// Space for the head, of so many bytes, then the arguments.
  template <auto method, class... Given>
  static std::vector<std::byte> request(std::size_t head, Given&&... given) {
    const typename replicated::Traits<method>::Arguments values(std::forward<Given>(given)...);
    std::vector<std::byte> message(head);
    std::apply([&](const auto&... each) { replicated::put(message, each...); }, values);
    return message;
  }

  // The compiler says one sentence of a mistake: nothing that would not compile either is looked at after these.

  template <auto method>
  static consteval bool check() {
    using Traits = replicated::Traits<method>;
    using Arguments = typename Traits::Arguments;
    using Stored = replicated::Stored<typename Traits::Result>;
    constexpr bool values = Traits::arguments_travel && replicated::owns_its_values<Arguments>;
    static_assert(values,
                  "a replicated method takes values: no pointers, spans, string_views or references that it writes to");
    constexpr bool made = std::is_default_constructible_v<Arguments> && std::is_default_constructible_v<Stored>;
    static_assert(!values || made,
                  "parameters and results of a replicated method must be default-constructible, to be read from bytes");
    constexpr bool travel = replicated::all_travel<Arguments> &&
                            (std::is_void_v<typename Traits::Result> || replicated::travels<Stored>);
    static_assert(!values || !made || travel,
                  "a parameter or the result of a replicated method cannot be written as bytes: give its type "
                  "`template <class Archive> void serialize(Archive&)`, or make it a plain aggregate");
    return values && made && travel;
  }
  template <auto method, class... Given>
  static consteval bool check_given() {
    using Arguments = typename replicated::Traits<method>::Arguments;
    constexpr bool as_many = sizeof...(Given) == std::tuple_size_v<Arguments>;
    static_assert(as_many, "a call of a replicated method takes as many arguments as the method has parameters");
    constexpr bool convert = std::is_constructible_v<Arguments, Given&&...>;
    static_assert(!as_many || convert, "an argument cannot be converted to the parameter of the replicated method");
    return as_many && convert;
  }

  static constexpr bool streams = requires(const T& from, T& to, std::ostream& out, std::istream& in) {
    from.save(out);
    to.load(in);
  };
  static constexpr bool archives = cereal::traits::is_output_serializable<T, replicated::ValueWriter>::value &&
                                   cereal::traits::is_input_serializable<T, replicated::ValueReader>::value;
  static constexpr StateForm form = streams ? StateForm::stream : archives ? StateForm::archive : StateForm::none;

  template <class... Arguments>
  static T make(const replicated::ReplicaProgress& progress, Arguments&&... arguments) {
    const replicated::MethodScope scope(progress, replicated::MethodScope::Kind::making);
    return T(std::forward<Arguments>(arguments)...);
  }

  void load_object([[maybe_unused]] std::span<const std::byte> bytes) {
    if constexpr (streams) {
      std::string text;
      replicated::take(bytes, text);
      std::istringstream stream(text);
      object_.load(stream);
    } else if constexpr (archives) {
      replicated::take(bytes, object_);
    }
  }

  bool run(std::uint32_t method, std::span<const std::byte> arguments, replicated::ReplicatedCall* own,
           std::vector<std::byte>* reply) override {
    return run_in_list(Methods{}, method, arguments, own, reply);
  }
  template <auto... methods>
  bool run_in_list(Replicates<methods...>, std::uint32_t method, std::span<const std::byte> arguments,
                   replicated::ReplicatedCall* own, std::vector<std::byte>* reply) {
    using Run = bool (ReplicaCore::*)(std::span<const std::byte>, replicated::ReplicatedCall*, std::vector<std::byte>*);
    static constexpr std::array<Run, sizeof...(methods)> table = {&ReplicaCore::template run_method<methods>...};
    return (this->*table[method])(arguments, own, reply);
  }

  bool is_query(std::uint32_t method) const noexcept override { return is_query_in_list(Methods{}, method); }
  template <auto... methods>
  static bool is_query_in_list(Replicates<methods...>, std::uint32_t method) noexcept {
    static constexpr std::array<bool, sizeof...(methods)> table = {replicated::Traits<methods>::is_const...};
    return table[method];
  }

  bool read_bytes(std::uint32_t method, std::span<const std::byte> arguments, std::vector<std::byte>& reply) const override {
    return read_in_list(Methods{}, method, arguments, reply);
  }
  template <auto... methods>
  bool read_in_list(Replicates<methods...>, std::uint32_t method, std::span<const std::byte> arguments,
                    std::vector<std::byte>& reply) const {
    using Read = bool (ReplicaCore::*)(std::span<const std::byte>, std::vector<std::byte>&) const;
    static constexpr std::array<Read, sizeof...(methods)> table = {&ReplicaCore::template read_method<methods>...};
    return (this->*table[method])(arguments, reply);
  }
  template <auto method>
  bool read_method(std::span<const std::byte> bytes, std::vector<std::byte>& reply) const {
    using Traits = replicated::Traits<method>;
    if constexpr (check<method>() && Traits::is_const) {
      typename Traits::Arguments arguments;
      std::apply([&](auto&... each) { replicated::take(bytes, each...); }, arguments);
      try {
        const std::shared_lock lock(object_mutex_);
        const replicated::MethodScope reads(progress(), replicated::MethodScope::Kind::query);
        const auto put_result = [&](auto&... each) {
          if constexpr (std::is_void_v<typename Traits::Result>) {
            (object_.*method)(std::move(each)...);
          } else {
            replicated::put(reply, static_cast<typename Traits::Result>((object_.*method)(std::move(each)...)));
          }
        };
        std::apply(put_result, arguments);
        return false;
      } catch (...) {
        reply.clear();
        replicated::put_exception(reply, std::current_exception());
      }
    }
    return true;
  }

  bool are_arguments(std::uint32_t method, std::span<const std::byte> bytes) const override {
    return are_in_list(Methods{}, method, bytes);
  }
  template <auto... methods>
  static bool are_in_list(Replicates<methods...>, std::uint32_t method, std::span<const std::byte> bytes) {
    static constexpr std::array<bool (*)(std::span<const std::byte>), sizeof...(methods)> table = {
        &ReplicaCore::template are_of_method<methods>...};
    return table[method](bytes);
  }
  template <auto method>
  static bool are_of_method(std::span<const std::byte> bytes) {
    if constexpr (check<method>()) {
      typename replicated::Traits<method>::Arguments arguments;
      try {
        std::apply([&](auto&... each) { replicated::take(bytes, each...); }, arguments);
        return true;
      } catch (const replicated::BadBytes&) {
      }
    }
    return false;
  }

  template <auto method>
  bool run_method(std::span<const std::byte> bytes, replicated::ReplicatedCall* own, std::vector<std::byte>* reply) {
    if constexpr (check<method>()) return run_checked<method>(bytes, own, reply);
    return false;
  }
  template <auto method>
  bool run_checked(std::span<const std::byte> bytes, replicated::ReplicatedCall* own, std::vector<std::byte>* reply) {
    using Traits = replicated::Traits<method>;
    using R = typename Traits::Result;
    typename Traits::Arguments arguments;
    std::apply([&](auto&... each) { replicated::take(bytes, each...); }, arguments);
    replicated::Answer<R> answer = invoke<method>(arguments);
    const bool threw = answer.kind == replicated::Answer<R>::Kind::threw;
    if (reply != nullptr && threw) {
      replicated::put_exception(*reply, answer.thrown);
    } else if constexpr (!std::is_void_v<R>) {
      if (reply != nullptr) replicated::put(*reply, answer.value);
    }
    if (auto* call = dynamic_cast<replicated::CallOf<R>*>(own)) {
      call->on_own_answer(progress().channel().self(), std::move(answer));
    }
    return threw;
  }

  template <auto method, class Traits = replicated::Traits<method>>
  replicated::Answer<typename Traits::Result> invoke(typename Traits::Arguments& arguments) {
    using R = typename Traits::Result;
    using Kind = typename replicated::Answer<R>::Kind;
    using Kinds = replicated::MethodScope::Kind;
    using Mutex = std::shared_mutex;
    using Lock = std::conditional_t<Traits::is_const, std::shared_lock<Mutex>, std::unique_lock<Mutex>>;
    try {
      const Lock lock(object_mutex_);
      const replicated::MethodScope scope(progress(), Traits::is_const ? Kinds::query : Kinds::update,
                                          progress().under_way());
      return std::apply(
          [&](auto&... each) {
            if constexpr (std::is_void_v<R>) {
              (object_.*method)(std::move(each)...);
              return replicated::Answer<R>{Kind::returned};
            } else {
              return replicated::Answer<R>{Kind::returned, (object_.*method)(std::move(each)...)};
            }
          },
          arguments);
    } catch (...) {
      return replicated::Answer<R>{Kind::threw, {}, std::current_exception()};
    }
  }

  mutable std::shared_mutex object_mutex_;
  T object_;
};

}  // namespace spindrift
