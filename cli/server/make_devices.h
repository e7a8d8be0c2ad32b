#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "config/schema.h"
#include "device/device.h"

namespace volvox {

class StopWatch;

// The devices that the configuration asks for. Says in the log which GPUs there are, and when it takes the
// CPU because there is none. An error where a GPU is asked for by name and cannot be had. A GPU's driver
// makes threads at once, and no signal may reach them: so whoever wants devices has a StopWatch by then,
// which has blocked the signals.
Result<std::vector<std::shared_ptr<Device>>> make_devices(const DeviceSection& section,
                                                          const StopWatch& stop);

// The CPU alone, for a process that signals may end as they like: it has no thread before it has a queue.
Result<std::shared_ptr<Device>> make_cpu_device(const DeviceSection& section);

}  // namespace volvox
