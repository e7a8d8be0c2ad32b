#pragma once

#include <memory>
#include <string>
#include <utility>

#include "actors/admin/admin_socket.h"
#include "base/error.h"

namespace volvox {

// The admin socket where the configuration wants it (admin.socket); "auto": by the port of the endpoint
// where clients connect. Null: nowhere, also when nobody asked for it and it cannot be where "auto" puts it
// (the log says why).
Result<std::unique_ptr<AdminSocket>> open_admin_door(const std::string& setting, const std::string& endpoint,
                                                     AdminSocket::Handler handler);

// For an object whose handle() takes each line.
template <class Commands>
AdminSocket::Handler handler_of(std::shared_ptr<const Commands> commands) {
  return [commands = std::move(commands)](const std::string& line, AdminSocket::Reply reply) {
    commands->handle(line, std::move(reply));
  };
}

}  // namespace volvox
