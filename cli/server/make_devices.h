#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "config/schema.h"
#include "device/device.h"

namespace volvox {

// The devices that the configuration asks for. Says in the log which GPUs there are, and when it takes the
// CPU because there is none. An error where a GPU is asked for by name and cannot be had.
Result<std::vector<std::shared_ptr<Device>>> make_devices(const DeviceSection& section);

}  // namespace volvox
