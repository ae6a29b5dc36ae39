// A replica: one object that all members of a subgroup change in the same order. Behind Replicated (replicated.hpp), which
// is what users see; the Group calls the entry points of ReplicaBase, all on its poller thread but those about the state.
//
// To remember: only the poller thread changes the object, or `load` while the poller delivers nothing, and holds
// `object_mutex_` alone while it does; others read under it.
#pragma once

#include <array>
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

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/group/handler_threads.hpp>
#include <spindrift/group/method_scope.hpp>
#include <spindrift/group/replica_channel.hpp>
#include <spindrift/group/replica_members.hpp>
#include <spindrift/group/replica_refusal.hpp>
#include <spindrift/group/replica_state.hpp>
#include <spindrift/group/replicated_bytes.hpp>
#include <spindrift/group/replicated_call.hpp>
#include <spindrift/group/replicated_error.hpp>
#include <spindrift/group/replicated_future.hpp>
#include <spindrift/group/replicated_methods.hpp>
#include <spindrift/group/waiting_queries.hpp>

namespace spindrift {

/// The entry points, independent of the object's type. All on the poller thread, but for those that say so; they throw
/// nothing of the application's.
class ReplicaBase {
 public:
  ReplicaBase(ReplicaChannel& channel, replicated::MethodLists lists);
  virtual ~ReplicaBase();
  ReplicaBase(const ReplicaBase&) = delete;
  ReplicaBase& operator=(const ReplicaBase&) = delete;

  /// The members of the subgroup at first, and whether its state is on its way here. Before any other entry point; any
  /// thread.
  void begin(const replicated::ReplicaMembers& members, bool loading);
  /// Messages of the subgroup in their order.
  void on_delivery(std::span<const Delivery> batch);
  /// Messages of the subgroup's log, in their order, which were delivered before this process had the object: what they
  /// changed is changed again, and nobody is answered, or accused. Before any `on_delivery` that follows them. A log that
  /// begins with calls of a list that is not known here is given up, and so refused.
  void on_replay(std::span<const Delivery> batch);
  /// The state that `load` took is a checkpoint of that version: that message of the log follows.
  void begin_at(std::uint64_t version) noexcept { progress_.begin_at(version); }
  /// A private message of another member: an answer.
  void on_private(NodeId from, std::span<const std::byte> message);
  /// A query of any member, this one included.
  void on_query(NodeId from, std::span<const std::byte> message);
  /// Answers queries that wait, as far as there is room for their answers.
  void answer_waiting();
  /// The answer to a query that no replica takes. Nothing: it is no query.
  [[nodiscard]] static std::optional<std::vector<std::byte>> refusal(std::span<const std::byte> query,
                                                                     replicated::AnswerOutcome outcome);
  /// The members of the subgroup from now on: with every view; deliveries of those before that were kept may follow.
  /// `loading`: its state is on its way here. `anew`: see ReplicaMembers; nobody who waits for an answer of theirs gets it.
  void on_view(const replicated::ReplicaMembers& members, bool loading, std::span<const NodeId> anew);
  /// The state is here.
  void on_loaded() { state_.set(replicated::ReplicaState::Stage::here); }
  /// All members have delivered what is below `frontier` in the current view. Called when it grew.
  void on_stable(SequenceNumber frontier);
  /// All members of the logged subgroup have what is of a lower version on their disks. Called when it grew.
  void on_durable(std::uint64_t version) { calls_.on_durable(version); }
  /// Nothing will be called any more; waiting callers are told `why`. The channel is not used after it.
  void on_end(const Error& why);
  /// The state that came cannot be taken here: whoever waits is told `why`, and the object takes and gives nothing any more.
  /// Any thread; returns before anything is delivered.
  void give_up(const Error& why);

  /// Any thread.
  [[nodiscard]] const replicated::ReplicaState& state() const noexcept { return state_; }

  /// Writes the object's state for a joiner, between two deliveries; any thread. A type that gives no way to save it saves
  /// that it has none, which no joiner can load. Errors: resource; refused, where it was given up.
  [[nodiscard]] virtual Result<void> save(std::ostream& to) const = 0;
  /// Replaces the state by what another member saved; any thread, between two deliveries, before `on_loaded`. Errors:
  /// unsupported (the type gives no way to), refused (it is of a type with other methods), bad_input.
  [[nodiscard]] virtual Result<void> load(std::span<const std::byte> state) = 0;
  /// Why the type's state cannot travel. Nothing: it can.
  [[nodiscard]] virtual std::optional<Error> untransferable() const = 0;

 protected:
  /// The replicas' part in a call.
  enum class Ask : std::uint32_t {
    all,     ///< all apply and answer
    apply,   ///< all apply; only the caller's own replica has an answer
    own,     ///< only the caller's own replica runs it
    direct,  ///< the replica that gets it as a private message runs it: a query
    one,     ///< a query that the replica alone runs whose node comes before the arguments, in 8 bytes
  };
  struct Request {
    std::uint64_t digest;  ///< of the list of methods
    std::uint64_t call;
    std::uint32_t method;
    Ask ask;
    [[nodiscard]] bool is_ordered() const noexcept { return ask <= Ask::own || ask == Ask::one; }
  };
  static_assert(sizeof(Request) == 24);
  using Place = std::uint64_t;  ///< behind the Request of Ask::one: the node
  struct Reply {
    std::uint64_t digest;  ///< as the request has it
    std::uint64_t call;
    std::uint64_t outcome;  ///< replicated::AnswerOutcome
    std::uint64_t left;     ///< bytes of the answer that follow in later pieces
  };

  /// The words before a saved state.
  struct StateHead {
    std::uint64_t digest;  ///< of the list of methods
    std::uint64_t form;    ///< StateForm
  };
  enum class StateForm : std::uint64_t { none, stream, archive };
  /// The bytes behind the head. Errors: refused, unsupported, bad_input.
  [[nodiscard]] Result<std::span<const std::byte>> open_state(std::span<const std::byte> state, StateForm own) const;
  [[nodiscard]] std::vector<std::byte> begin_state(StateForm form) const;
  [[nodiscard]] Error no_way_to_travel() const;
  /// Throws bad_argument: this node is not in the subgroup, so that no delivery keeps the object up.
  void require_membership() const;

  /// Starts a call: the message is sent when this returns. It is space for the request, then the arguments. Waits until the
  /// state is here: a member that has another list of methods finds out by that, and does not speak before.
  void start(std::vector<std::byte>& message, std::uint32_t method, Ask ask,
             const std::shared_ptr<replicated::ReplicatedCall>& call);
  /// The same for a query that one member's replica runs at its place in the order. There is space for the node, too.
  void start_at(std::vector<std::byte>& message, std::uint32_t method, NodeId of,
                const std::shared_ptr<replicated::ReplicatedCall>& call);
  /// The same for a query of one member's replica, or of those of all members, beside the order.
  void start_query(std::vector<std::byte>& message, std::uint32_t method, std::optional<NodeId> of,
                   const std::shared_ptr<replicated::ReplicatedCall>& call);
  [[nodiscard]] const std::shared_ptr<const group::HandlerThreads>& handlers() const noexcept { return handlers_; }
  /// The channel, and what fields of the object ask for: which message a method of it runs for.
  [[nodiscard]] const replicated::ReplicaProgress& progress() const noexcept { return progress_; }

  /// Runs a method on the object, and returns whether it threw. The answer goes to `own` if that is not null, and as bytes
  /// behind those of `reply` if that is not null. Throws BadBytes before the object is touched.
  [[nodiscard]] virtual bool run(std::uint32_t method, std::span<const std::byte> arguments, replicated::ReplicatedCall* own,
                                 std::vector<std::byte>* reply) = 0;
  /// Whether that method, which is in the list, changes nothing.
  [[nodiscard]] virtual bool is_query(std::uint32_t method) const noexcept = 0;

 private:
  void deliver(const Delivery& delivery);
  void replay(const Delivery& delivery);
  void deliver_at(const Delivery& delivery, const Request& request, std::span<const std::byte> arguments);
  void apply_own(const Delivery& delivery, const Request& request, std::span<const std::byte> arguments);
  void apply(NodeId caller, const Request& request, std::span<const std::byte> arguments);
  void answer_query(NodeId caller, std::span<const std::byte> message);
  [[nodiscard]] replicated::AnswerOutcome hindrance(const Request& query) const noexcept;
  void send_reply(NodeId caller, Reply head);
  void take_reply(NodeId from, std::span<const std::byte> message);

  ReplicaChannel& channel_;
  replicated::ReplicaProgress progress_{channel_};
  const replicated::MethodLists lists_;
  const std::shared_ptr<const group::HandlerThreads> handlers_;
  replicated::ReplicaState state_;
  replicated::OpenCalls calls_;
  replicated::ReplicaMembers members_;  // the poller's
  std::vector<std::byte> reply_;  // the poller's; kept for its memory
  replicated::WaitingQueries waiting_;
};

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
      using Way = replicated::CallWay;
      started = std::make_shared<replicated::CallOf<Returned>>(handlers(),
                                                               progress().channel().logged() ? Way::logged : Way::ordered);
      start(message, position<method>, ask, started);
    }
    return Future<Returned>(std::move(started));
  }

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
