#include "gpu/program/plan_leaves.h"

#include <algorithm>
#include <utility>

namespace volvox::gpu {

ElementType element_type(DType dtype) {
  if (dtype == DType::kF32) return ElementType::kF32;
  return dtype == DType::kI32 ? ElementType::kI32 : ElementType::kU64;
}

bool is_leaf(const Operator& op) {
  return op.is(kGatherOp) || op.is(kGatherAllOp) || op.is(kPullOp) || op.is(kEmbedOp);
}

Result<Place> PlanLeaves::leaf(const Operator& op, std::int64_t offset) {
  Result<Place> place = Place{};
  if (op.is(kGatherOp)) {
    place = state(op, options_.compile.gather_pools[op.index], Place::Kind::kPlane);
  } else if (op.is(kGatherAllOp)) {
    place = state(op, options_.compile.ragged_pool, Place::Kind::kRaggedPlane);
  } else if (op.is(kEmbedOp)) {
    place = table(op);
  } else {
    place->kind = Place::Kind::kInput;
    place->type = element_type(cell_.values[op.output].dtype);
    place->index = static_cast<std::uint8_t>(op.index);
  }
  if (place) place->offset = static_cast<std::uint32_t>(offset);
  return place;
}

Result<std::optional<Place>> PlanLeaves::narrow_leaf(const Operator& op) {
  if (!op.is(kGatherOp) && !op.is(kEmbedOp)) return std::nullopt;
  auto place = leaf(op, 0);
  if (!place) return tl::unexpected(place.error());
  if (op.is(kGatherOp)) {
    if (place->shadow == 0) return std::nullopt;
    place->base += place->shadow;
    place->shadow = 0;
    place->type = place->shadow_type;
    return *place;
  }
  const ElementType type = operand_type(options_.precision);
  const std::string name = op.weights[0] + " narrow";
  if (const auto known = constants_.find(name); known != constants_.end()) {
    place->base = known->second.base;
  } else {
    const Tensor& table = *weights_.find(op.weights[0]);
    const auto count = static_cast<std::size_t>(elements(table.shape));
    std::vector<std::byte> narrow(count * element_bytes(type));
    for (std::size_t i = 0; i < count; ++i)
      write_operand(narrow.data() + i * element_bytes(type), type, table.f32()[i]);
    auto kept = keep_vector(name, narrow);
    if (!kept) return tl::unexpected(kept.error());
    place->base = kept->base;
  }
  place->type = type;
  place->stride_bytes /= 2;
  return *place;
}

Result<Place> PlanLeaves::out(const Operator& scatter) {
  return state(scatter, options_.compile.out_pool, Place::Kind::kOut);
}

Result<Place> PlanLeaves::state(const Operator& op, PoolId pool, Place::Kind kind) {
  const GpuPlanes* planes = resources_.pool(pool);
  if (planes == nullptr) return bad("there is no pool " + std::to_string(pool));
  const GpuPlane* plane = planes->find(op.name);
  if (plane == nullptr) return bad("pool " + std::to_string(pool) + " has no state '" + op.name + "'");
  Place place;
  place.kind = kind;
  place.type = element_type(plane->kind.dtype);
  place.index = static_cast<std::uint8_t>(op.index);
  place.stride_bytes = plane->stride_bytes;
  place.base = plane->address;
  place.shadow = plane->shadow;
  place.shadow_type = plane->shadow_type;
  return place;
}

Result<Place> PlanLeaves::table(const Operator& op) {
  if (!cell_.values[op.inputs[0]].shape.empty()) return bad("a GPU embeds one id at a time");
  auto id_place = ids(op.inputs[0]);
  if (!id_place) return id_place;
  const Tensor* tensor = weights_.find(op.weights[0]);
  const Shape shape{tensor == nullptr || tensor->shape.empty() ? 1 : tensor->shape[0], width(op.output)};
  auto place = constant(op.weights[0], shape);
  if (!place) return place;
  place->kind = Place::Kind::kTable;
  place->stride_bytes = static_cast<std::uint32_t>(width(op.output) * 4);
  place->rows = static_cast<std::uint32_t>(shape[0]);
  place->id = number_of(*id_place);
  return place;
}

// What may name the rows of a table: an input, a state, or an argmax, which has left it in a buffer.
Result<Place> PlanLeaves::ids(ValueId value) {
  const auto made = made_.find(value);
  return made != made_.end() ? Result<Place>(made->second) : leaf(*cell_.producer(value), 0);
}

Result<const Tensor*> PlanLeaves::weight(const std::string& name, const Shape& shape) const {
  const Tensor* tensor = weights_.find(name);
  if (tensor == nullptr) return bad("there is no weight '" + name + "'");
  if (tensor->dtype != DType::kF32 || tensor->shape != shape) {
    return bad("weight '" + name + "' is " + std::string(to_string(tensor->dtype)) +
               to_string(tensor->shape) + ", expected f32" + to_string(shape));
  }
  return tensor;
}

Result<Place> PlanLeaves::constant(const std::string& name, const Shape& shape) {
  const auto known = constants_.find(name);
  if (known != constants_.end()) return known->second;
  auto tensor = weight(name, shape);
  if (!tensor) return tl::unexpected(tensor.error());
  return keep_vector(name, (*tensor)->bytes);
}

// As wide as the sums that it is added to: that of a convolution is repeated for all that one kernel makes.
Result<Place> PlanLeaves::bias_of(const Operator& op) {
  const std::string& bias = op.weights.back();
  if (!op.is(kConvolutionOp)) return constant(bias, {width(op.output)});
  const Convolution& c = op.convolution;
  const std::string name = bias + " for " + std::to_string(c.positions());
  const auto known = constants_.find(name);
  if (known != constants_.end()) return known->second;
  auto tensor = weight(bias, {c.kernels});
  if (!tensor) return tl::unexpected(tensor.error());
  std::vector<float> repeated;
  for (std::int64_t k = 0; k < c.kernels; ++k) {
    repeated.insert(repeated.end(), static_cast<std::size_t>(c.positions()), (*tensor)->f32()[k]);
  }
  return keep_vector(name, std::as_bytes(std::span(repeated)));
}

Result<Place> PlanLeaves::keep_vector(const std::string& name, std::span<const std::byte> bytes) {
  auto address = keep(bytes);
  if (!address) return tl::unexpected(address.error());
  Place place;
  place.kind = Place::Kind::kVector;
  place.base = *address;
  return constants_[name] = place;
}

std::uint16_t PlanLeaves::number_of(const Place& place) {
  places_.push_back(place);
  return static_cast<std::uint16_t>(places_.size() - 1);
}

}  // namespace volvox::gpu
