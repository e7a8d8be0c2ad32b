#include "cli/admin/key_options.h"

#include <utility>

#include "cli/option.h"

namespace volvox {

void add_key_options(CLI::App& command, KeyFiles& files) {
  CLI::Option* server = add_option(command, "--server-key FILE", files.server_key,
                                   "File with the public key of a server that encrypts");
  CLI::Option* client =
      add_option(command, "--client-key FILE", files.client_key, "File with this client's secret key");
  server->needs(client);
  client->needs(server);
}

Result<std::optional<ChannelKeys>> read_keys(const KeyFiles& files) {
  if (files.server_key.empty()) return std::nullopt;
  auto server = read_public_key(files.server_key);
  if (!server) return tl::unexpected(server.error());
  auto client = read_secret_key(files.client_key);
  if (!client) return tl::unexpected(client.error());
  return ChannelKeys{std::move(server->public_key), std::move(*client)};
}

}  // namespace volvox
