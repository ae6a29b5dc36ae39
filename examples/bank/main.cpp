// A bank whose tellers are no members of its group: members hold the accounts, tellers call them, each deposit once, also
// when the member that they ask is killed in between.
//
//   bank member bank.cfg 0 &  bank member bank.cfg 1 &  bank member bank.cfg 2 &
//   bank teller 127.0.0.1:7621 Ann 1000
#include <spindrift/client.hpp>
#include <spindrift/config.hpp>
#include <spindrift/group.hpp>
#include <spindrift/replicated.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Members and tellers are built with the same list of Methods.
class Accounts {
 public:
  long deposit(const std::string& account, long cents) { return cents_[account] += cents; }
  [[nodiscard]] long balance(const std::string& account) const {
    const auto found = cents_.find(account);
    return found == cents_.end() ? 0 : found->second;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cents_);
  }
  using Methods = spindrift::Replicates<&Accounts::deposit, &Accounts::balance>;

 private:
  std::map<std::string, long> cents_;
};

void serve(const char* config, const char* id) {
  spindrift::Group group(
      spindrift::value_or_throw(spindrift::Config::read(config, {{"DERECHO/local_id", id, "argument"}})));
  auto accounts = group.replicated<Accounts>("accounts");
  accounts.loaded();
  accounts.offer();
  std::printf("member %s lets tellers in\n", id);
  std::fflush(stdout);
  group.wait();
}

void deposit(const char* member, const std::string& account, int count) {
  spindrift::ClientOptions options;
  options.members = {member};  // it tells of the others
  spindrift::Client client(options);
  auto accounts = client.replicated<Accounts>("accounts");
  std::vector<spindrift::ClientFuture<long>> deposits;
  for (int i = 0; i < count; ++i) deposits.push_back(accounts.update<&Accounts::deposit>(account, 1));
  for (int i = 0; i < count; ++i) {
    static_cast<void>(deposits[static_cast<std::size_t>(i)].get());
    if (i != count / 2) continue;
    std::printf("half of the deposits are made\n");
    std::fflush(stdout);
  }
  std::printf("%s has %ld\n", account.c_str(), accounts.ordered_query<&Accounts::balance>(account).get());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  try {
    if (what == "member" && count == 4) {
      serve(arguments[2], arguments[3]);
    } else if (what == "teller" && count == 5) {
      deposit(arguments[2], arguments[3], std::atoi(arguments[4]));
    } else {
      std::fprintf(stderr, "bank member CONFIG ID, or bank teller HOST:PORT ACCOUNT COUNT\n");
      return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
