// Sentences for those who ask for a client.
#include <spindrift/group/client_session.hpp>

#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::replicated {
namespace {

Error error_of(ClientRefusal reason, const std::string& request, const std::string& subgroup) {
  const std::string of_object = " the replicated object of subgroup " + subgroup;
  switch (reason) {
    case ClientRefusal::over:
      return Error(ErrorKind::refused, request + " is of a session that is over with" + of_object + ", or was never open")
          .fix("open another session; whether this request was carried out before, only the object can tell");
    case ClientRefusal::settled:
      return Error(ErrorKind::bad_argument, request + " is settled with" + of_object)
          .fix("settle a request only when its result is here, or not wanted any more");
    case ClientRefusal::ahead:
      return Error(ErrorKind::refused, request + " is too far ahead of what is settled with" + of_object)
          .fix("settle the requests whose results are here, and make this one again");
    case ClientRefusal::full:
      return Error(ErrorKind::resource, request + " finds too many bytes of results that are not settled with" + of_object)
          .fix("settle the requests whose results are here, and make this one again");
    case ClientRefusal::too_large:
      return Error(ErrorKind::resource, request + " was carried out before, and its result was too large to be kept by" +
                                            of_object)
          .fix("read by a query what it did, and let such methods return less");
    case ClientRefusal::other_method:
      return Error(ErrorKind::bad_argument, request + " called another method of" + of_object + " before")
          .fix("give each request of a session a number of its own");
  }
  CHECK(false);
}

}  // namespace

ClientRefused client_refused(ClientRefusal reason, const ClientRequest& request, const std::string& subgroup) {
  std::string words = "request " + std::to_string(request.number) + " of session " + std::to_string(request.session.number);
  if (request.number < request.settled)
    words += ", which itself says that all below " + std::to_string(request.settled) + " are,";
  return ClientRefused(reason, error_of(reason, words, subgroup));
}

}  // namespace spindrift::replicated
