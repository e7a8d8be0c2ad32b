#include "actors/node/request_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/text.h"
#include "cells/unfold/unfolding.h"

namespace volvox {
namespace {

// "input 'tokens' …". The name is the client's or the model's, and clean text by then.
tl::unexpected<Error> wrong_input(std::string_view name, const std::string& what) {
  return invalid("input " + in_quotes(name) + " " + what);
}

template <class Specs>
std::string names_of(const Specs& specs) {
  return specs.empty() ? "none" : listed(specs, [](const auto& spec) { return in_quotes(spec.name); });
}

// What rows the inputs must have.
struct Rows {
  Lengths counts{};  // by sequence
  std::string_view each;
  std::vector<bool> read{};  // whose ids are looked at; empty: all

  bool is_read(std::ptrdiff_t row) const { return read.empty() || read[static_cast<std::size_t>(row)]; }
};

bool has_shape(const WireTensor& tensor, std::uint32_t length, const Shape& row) {
  const auto dims = tensor.shape.dims();
  return dims.size() == row.size() + 1 && dims[0] == static_cast<std::int64_t>(length) &&
         std::equal(row.begin(), row.end(), dims.begin() + 1);
}

template <class Id>
Status check_ids(const InputSpec& spec, const WireTensor& tensor, const Rows& rows) {
  const auto ids = tensor.values<Id>();
  if (!ids) return tl::unexpected(ids.error());
  const auto is_bad = [&](Id id) { return id < 0 || id >= spec.vocabulary; };
  const auto width = static_cast<std::ptrdiff_t>(elements(spec.shape));
  auto bad = std::find_if(ids->begin(), ids->end(), is_bad);
  while (bad != ids->end() && !rows.is_read((bad - ids->begin()) / width)) {
    bad = std::find_if(bad + 1, ids->end(), is_bad);
  }
  if (bad == ids->end()) return {};
  return wrong_input(spec.name, "has the id " + std::to_string(*bad) + " at " +
                                    std::to_string(bad - ids->begin()) +
                                    "; ids must be at least 0 and below " + std::to_string(spec.vocabulary));
}

bool is_wide(const InputSpec& spec, const WireTensor& tensor) {
  return spec.dtype == DType::kI32 && tensor.type == WireType::kI64;
}

Status check_fits(const InputSpec& spec, const WireTensor& tensor) {
  const auto values = tensor.values<std::int64_t>();
  if (!values) return tl::unexpected(values.error());
  const auto bad = std::find_if(values->begin(), values->end(),
                                [](std::int64_t value) { return value != static_cast<std::int32_t>(value); });
  if (bad == values->end()) return {};
  return wrong_input(spec.name, "has " + std::to_string(*bad) + " at " +
                                    std::to_string(bad - values->begin()) + ", which is no i32");
}

// In one pass without a branch, for inputs may be long; only a bad one is looked through again.
Status check_finite(const InputSpec& spec, const WireTensor& tensor) {
  constexpr std::uint32_t kNotSign = 0x7fffffff, kInfinity = 0x7f800000, kSign = 0x80000000;
  const auto values = tensor.values<float>();
  if (!values) return tl::unexpected(values.error());
  std::uint32_t carried = 0;  // into the place of the sign, by what is not finite, and by nothing else
  for (const float value : *values)
    carried |= (std::bit_cast<std::uint32_t>(value) & kNotSign) + (kSign - kInfinity);
  if ((carried & kSign) == 0) return {};
  const auto bad =
      std::find_if(values->begin(), values->end(), [](float value) { return !std::isfinite(value); });
  return wrong_input(spec.name, "has a NaN or an infinity at " + std::to_string(bad - values->begin()) +
                                    "; send numbers only");
}

Status check_input(const InputSpec& spec, const WireTensor& tensor, const Rows& rows) {
  const bool wide = is_wide(spec, tensor);
  if (!wide && tensor.type != wire_type(spec.dtype)) {
    return wrong_input(spec.name, "must be of type " + std::string(to_string(wire_type(spec.dtype))) +
                                      ", not " + std::string(to_string(tensor.type)));
  }
  const std::uint32_t count = rows.counts[spec.sequence];
  if (!has_shape(tensor, count, spec.shape)) {
    Shape wanted{count};
    wanted.insert(wanted.end(), spec.shape.begin(), spec.shape.end());
    const auto dims = tensor.shape.dims();
    const bool has_batch = dims.size() == wanted.size() + 1 && dims[0] == 1;
    return wrong_input(
        spec.name, "must have the shape " + to_string(wanted) + ", a row for each " + std::string(rows.each) +
                       ", not " + to_string(tensor.shape) +
                       (has_batch ? "; leave the batch dimension out: requests are batched here" : ""));
  }
  if (spec.dtype == DType::kI32 && spec.vocabulary > 0) {
    if (Status ok =
            wide ? check_ids<std::int64_t>(spec, tensor, rows) : check_ids<std::int32_t>(spec, tensor, rows);
        !ok)
      return ok;
  }
  if (wide) return check_fits(spec, tensor);
  if (spec.dtype == DType::kF32) return check_finite(spec, tensor);
  return {};
}

// All inputs in memory of their own, those of type i64 as i32. They fit.
void narrow(const Model& model, std::span<const WireTensor* const> tensors, CheckedRequest& checked) {
  const auto aligned = [](std::size_t bytes) {
    return (bytes + WireBuffer::kAlignment - 1) / WireBuffer::kAlignment * WireBuffer::kAlignment;
  };
  std::size_t total = 0;
  for (const WireTensor* tensor : tensors) total += aligned(tensor->bytes.size());
  WireBuffer buffer = WireBuffer::unwritten(total);
  std::byte* at = buffer.data();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t bytes = tensors[i]->bytes.size();
    if (is_wide(model.inputs[i], *tensors[i])) {
      const std::span<const std::int64_t> values = tensors[i]->values<std::int64_t>().value();
      for (const std::int64_t wide : values) {
        const auto value = static_cast<std::int32_t>(wide);
        std::memcpy(at, &value, sizeof value);
        at += sizeof value;
      }
      bytes /= 2;
      at -= bytes;
    } else {
      std::copy(tensors[i]->bytes.begin(), tensors[i]->bytes.end(), at);
    }
    checked.inputs[i] = {at, bytes};
    std::fill(at + bytes, at + aligned(bytes), std::byte{});
    at += aligned(bytes);
  }
  buffer.truncate(static_cast<std::size_t>(at - buffer.data()));
  checked.host_bytes += total;
  checked.narrowed = std::make_shared<const WireBuffer>(std::move(buffer));
}

Status check_inputs(const Model& model, const RequestBody& body, const Rows& rows, CheckedRequest& checked) {
  std::array<const WireTensor*, kMaxInputs> found{};
  for (const WireTensor& tensor : body.inputs) {
    const auto spec = std::find_if(model.inputs.begin(), model.inputs.end(),
                                   [&](const InputSpec& input) { return input.name == tensor.name; });
    if (spec == model.inputs.end()) {
      return wrong_input(tensor.name, "is none of the model's; it has " + names_of(model.inputs));
    }
    const WireTensor*& place = found[static_cast<std::size_t>(spec - model.inputs.begin())];
    if (place != nullptr) return wrong_input(tensor.name, "is given twice; give it once");
    if (Status ok = check_input(*spec, tensor, rows); !ok) return ok;
    place = &tensor;
  }
  bool any_wide = false;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    if (found[i] == nullptr) return wrong_input(model.inputs[i].name, "is missing; give it");
    checked.inputs[i] = found[i]->bytes;
    any_wide = any_wide || is_wide(model.inputs[i], *found[i]);
  }
  if (any_wide) narrow(model, std::span(found).first(model.inputs.size()), checked);
  return {};
}

Status check_outputs(const Model& model, const RequestBody& body, CheckedRequest& checked) {
  if (body.outputs.empty()) {
    for (std::size_t i = 0; i < model.outputs.size(); ++i) checked.outputs.push_back(i);
    return {};
  }
  for (const std::string_view name : body.outputs) {
    const auto spec = std::find_if(model.outputs.begin(), model.outputs.end(),
                                   [&](const OutputSpec& output) { return output.name == name; });
    if (spec == model.outputs.end()) {
      return invalid("output " + in_quotes(name) + " is none of the model's; it has " +
                     names_of(model.outputs));
    }
    const auto number = static_cast<std::size_t>(spec - model.outputs.begin());
    if (std::find(checked.outputs.begin(), checked.outputs.end(), number) == checked.outputs.end()) {
      checked.outputs.push_back(number);
    }
  }
  return {};
}

}  // namespace

WireType wire_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return WireType::kF32;
    case DType::kI32:
      return WireType::kI32;
    case DType::kU64:
      break;
  }
  return WireType::kU64;
}

Result<CheckedRequest> check_request(const Model& model, const RequestBody& body) {
  auto extent = model.unfolding->check(body.structure, model);
  if (!extent) return tl::unexpected(extent.error());
  CheckedRequest checked;
  checked.lengths = extent->lengths;
  checked.host_bytes = extent->host_bytes;
  const Rows rows{extent->lengths, model.unfolding->row_name(), std::move(extent->read)};
  if (const Status ok = check_inputs(model, body, rows, checked); !ok) return tl::unexpected(ok.error());
  if (const Status ok = check_outputs(model, body, checked); !ok) return tl::unexpected(ok.error());
  return checked;
}

}  // namespace volvox
