#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/admin/cluster_certificates.h"
#include "cli/commands.h"
#include "cli/option.h"
#include "protocol/curve/curve_keys.h"

namespace volvox {
namespace {

namespace fs = std::filesystem;

struct KeysArguments {
  std::string folder;
  std::vector<std::string> clients;
  ClusterCertificates cluster;
};

// A name becomes a file's: no path may hide in it.
Status check_client_name(const std::string& name) {
  const bool good = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
  if (good && name != "server") return {};
  return invalid("'" + name + "' cannot be a client's name; use letters, digits, '-' and '_'");
}

Status make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorCode::kUnavailable, "cannot make '" + folder.string() + "': " + error.message());
}

Status write_pair(const fs::path& secret, const fs::path& open) {
  const auto keys = new_curve_keys();
  if (!keys) return tl::unexpected(keys.error());
  if (Status ok = write_secret_key(secret, *keys); !ok) return ok;
  return write_public_key(open, *keys);
}

Status write_client(const fs::path& folder, const std::string& name) {
  if (Status ok = check_client_name(name); !ok) return ok;
  const fs::path secret = folder / (name + ".key_secret"), open = folder / "clients" / (name + ".key");
  const bool there = fs::exists(secret);
  if (there && !fs::exists(open)) {
    return fail(ErrorCode::kUnavailable, "'" + secret.string() + "' is there, but '" + open.string() +
                                             "' is not: a client that is not let in any more? Remove the "
                                             "first for a new pair");
  }
  if (!there) {
    if (Status ok = write_pair(secret, open); !ok) return ok;
  }
  std::printf("client '%s': %s%s\n", name.c_str(), secret.c_str(), there ? " (was there already)" : "");
  return {};
}

// The server's pair is made once; clients may be added later.
Status write_server(const fs::path& secret, const fs::path& open) {
  if (!fs::exists(secret)) {
    if (Status ok = write_pair(secret, open); !ok) return ok;
    std::printf("server: %s\n", secret.c_str());
    return {};
  }
  if (fs::exists(open)) return {};
  const auto keys = read_secret_key(secret);
  return keys ? write_public_key(open, *keys) : tl::unexpected(keys.error());
}

Status write_keys(const KeysArguments& arguments) {
  const fs::path folder = arguments.folder;
  if (Status ok = make_folder(folder / "clients"); !ok) return ok;
  if (Status ok = write_server(folder / "server.key_secret", folder / "server.key"); !ok) return ok;
  for (const std::string& name : arguments.clients) {
    if (Status ok = write_client(folder, name); !ok) return ok;
  }
  std::printf("serve:  volvox serve --server-key %s --clients %s\n", (folder / "server.key_secret").c_str(),
              (folder / "clients").c_str());
  std::printf("ask:    volvox infer --server-key %s --client-key %s\n", (folder / "server.key").c_str(),
              (folder / (arguments.clients.front() + ".key_secret")).c_str());
  return {};
}

Status make_keys(KeysArguments arguments) {
  if (!arguments.cluster.names.empty()) {
    if (Status ok = write_cluster_certificates(arguments.folder, arguments.cluster); !ok) return ok;
    if (arguments.clients.empty()) return {};
  }
  if (arguments.clients.empty()) arguments.clients = {"client"};
  return write_keys(arguments);
}

}  // namespace

void add_keys_command(CLI::App& app, CommandBody& run) {
  const auto arguments = std::make_shared<KeysArguments>();
  CLI::App* command = app.add_subcommand(
      "keys", "Makes keys for encrypted connections: a server's and clients', or a cluster's");
  add_option(*command, "folder FOLDER", arguments->folder, "Where the keys go; what is there stays")
      ->required();
  add_option(*command, "--client NAME", arguments->clients,
             "A client's name; several may follow (default: client)");
  add_option(*command, "--cluster NAME", arguments->cluster.names,
             "Instead, or with --client as well: certificates for the processes of a cluster, a name each");
  add_option(*command, "--days DAYS", arguments->cluster.days, "How long these are good")
      ->check(CLI::Range(1, 3650));
  command->callback([arguments, &run] {
    run = [arguments] {
      const Status written = make_keys(*arguments);
      if (written) return 0;
      std::fprintf(stderr, "volvox keys: %s\n", to_string(written.error()).c_str());
      return 1;
    };
  });
}

}  // namespace volvox
