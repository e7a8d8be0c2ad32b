#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <capnp/list.h>

#include "base/error.h"
#include "protocol/limits.h"
#include "protocol/tensor.h"
#include "protocol/volvox.capnp.h"

namespace volvox {

// Lists of named tensors and of names, which requests and replies share. Internal to the codec.

// `what` names one element in errors: "input", "output".
Result<WireTensor> read_tensor(std::string_view what, wire::Tensor::Reader reader, const WireLimits& limits);
Result<std::vector<WireTensor>> read_tensors(std::string_view what, capnp::List<wire::Tensor>::Reader list,
                                             const WireLimits& limits);
Status check_tensors(std::string_view what, std::span<const WireTensor> tensors, const WireLimits& limits);
void write_tensors(std::span<const WireTensor> tensors, capnp::List<wire::Tensor>::Builder list);
std::size_t tensors_words(std::span<const WireTensor> tensors);

// At most `limit` names, each given and clean; `what` names one of them.
Result<std::vector<std::string_view>> read_names(std::string_view what, capnp::List<capnp::Text>::Reader list,
                                                 std::size_t limit, const WireLimits& limits);
Status check_names(std::string_view what, std::span<const std::string_view> names, std::size_t limit,
                   const WireLimits& limits);
void write_names(std::span<const std::string_view> names, capnp::List<capnp::Text>::Builder list);
std::size_t names_words(std::span<const std::string_view> names);

}  // namespace volvox
