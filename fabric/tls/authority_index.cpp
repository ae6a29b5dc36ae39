// The form of issued.json: times are seconds since 1970.
#include <spindrift/fabric/tls/authority_index.hpp>

#include <limits>

#include <nlohmann/json.hpp>

#include <spindrift/core/json_number.hpp>

namespace spindrift::fabric::tls {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using std::chrono::sys_seconds;

std::int64_t number_of(sys_seconds time) { return time.time_since_epoch().count(); }
sys_seconds time_at(const Json& entry, const char* key) {
  return sys_seconds(seconds(whole_number(entry.at(key), std::numeric_limits<std::int64_t>::max())));
}

Result<IssuedCertificate> issued_in(const Json& entry) {
  IssuedCertificate issued;
  SPINDRIFT_TRY_ASSIGN(issued.identity, Identity::parse(entry.at("identity").get<std::string>()));
  issued.serial = entry.at("serial").get<std::string>();
  issued.validity = {time_at(entry, "from"), time_at(entry, "until")};
  if (!entry.at("revoked").is_null()) issued.revoked = time_at(entry, "revoked");
  return issued;
}

Result<AuthorityIndex> index_in(const Json& document) {
  AuthorityIndex index;
  index.group = document.at("group").get<std::string>();
  index.lists = whole_number(document.at("lists"));
  for (const Json& entry : document.at("issued")) {
    SPINDRIFT_TRY_ASSIGN(IssuedCertificate issued, issued_in(entry));
    index.issued.push_back(std::move(issued));
  }
  return index;
}

}  // namespace

Result<AuthorityIndex> AuthorityIndex::parse(std::string_view json) {
  try {
    return index_in(Json::parse(json));
  } catch (const Json::exception& failure) {
    return Error(ErrorKind::bad_input, "it is not what spindrift keys wrote")
        .because(Error(ErrorKind::bad_input, failure.what()))
        .fix("restore the file from a copy; it says which certificates there are to revoke");
  }
}

std::string AuthorityIndex::to_json() const {
  Json entries = Json::array();
  for (const IssuedCertificate& certificate : issued) {
    entries.push_back({{"identity", certificate.identity.uri()},
                       {"serial", certificate.serial},
                       {"from", number_of(certificate.validity.from)},
                       {"until", number_of(certificate.validity.until)},
                       {"revoked", certificate.revoked ? Json(number_of(*certificate.revoked)) : Json()}});
  }
  return Json{{"group", group}, {"lists", lists}, {"issued", entries}}.dump(2) + "\n";
}

}  // namespace spindrift::fabric::tls
