#pragma once

#include "config/cluster.h"

namespace volvox {

// A connection takes a descriptor, and a process starts with few although it may have many: takes what it may
// have, and says so. Before the doors open.
void raise_descriptor_limit();

// Fits the doors' bounds to the descriptors that are left (serving/descriptor_budget.h), and says what had to
// give way. After the devices were made, which hold some. `routes`: nodes dial this process.
void fit_doors(ClusterConfig& config, bool routes);

}  // namespace volvox
