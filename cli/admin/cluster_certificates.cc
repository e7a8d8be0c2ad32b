#include "cli/admin/cluster_certificates.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>

#include "config/secret_file.h"
#include "protocol/tls/authority.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

constexpr int kAuthorityDays = 3650;
constexpr ::mode_t kOwnerOnly = 0600;

// A name becomes a file's, and stands in the certificate, which takes 64 bytes.
Status check_process_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 64 && name.front() != '.' &&
                    name.find_first_of("/\n") == std::string::npos;
  if (good && name != "ca") return {};
  return invalid("'" + name + "' cannot be a process's name; use letters, digits, '-' and '_'");
}

Status write(const fs::path& stem, const TlsIdentity& identity) {
  if (Status ok = write_new_file(fs::path(stem) += ".key", identity.key, kOwnerOnly); !ok) return ok;
  return write_new_file(fs::path(stem) += ".crt", identity.certificate, kOwnerOnly);
}

std::string text_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<TlsIdentity> authority_in(const fs::path& folder) {
  const fs::path stem = folder / "ca";
  if (fs::exists(fs::path(stem) += ".key"))
    return TlsIdentity{text_in(fs::path(stem) += ".crt"), text_in(fs::path(stem) += ".key")};
  if (fs::exists(fs::path(stem) += ".crt")) {
    return invalid("the authority's key is not at '" + (fs::path(stem) += ".key").string() +
                   "'; bring ca.key back to where ca.crt is, for new certificates of the same cluster");
  }
  auto made = new_tls_authority("Volvox cluster", kAuthorityDays);
  if (!made) return made;
  if (Status ok = write(stem, *made); !ok) return tl::unexpected(std::move(ok).error());
  std::printf("authority: %s; keep ca.key away from the machines of the cluster\n",
              (fs::path(stem) += ".crt").c_str());
  return made;
}

}  // namespace

Status write_cluster_certificates(const fs::path& folder, const ClusterCertificates& wanted) {
  const fs::path place = folder / "cluster";
  std::error_code error;
  fs::create_directories(place, error);
  if (error) return fail(ErrorCode::kUnavailable, "cannot make '" + place.string() + "': " + error.message());
  for (const std::string& name : wanted.names)
    if (Status ok = check_process_name(name); !ok) return ok;
  const auto authority = authority_in(place);
  if (!authority) return tl::unexpected(authority.error());
  for (const std::string& name : wanted.names) {
    const auto made = new_tls_certificate(*authority, name, wanted.days);
    if (!made) return tl::unexpected(made.error());
    const fs::path stem = place / name;
    if (Status ok = write(stem, *made); !ok) return ok;
    std::printf("'%s': --tls-certificate %s.crt --tls-key %s.key --tls-ca %s\n", name.c_str(), stem.c_str(),
                stem.c_str(), (place / "ca.crt").c_str());
  }
  return {};
}

}  // namespace volvox
