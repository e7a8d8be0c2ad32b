#include "gpu/program/fold_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "gpu/driver/random_fill.h"
#include "gpu/program/cell_plan.h"

namespace volvox::gpu {
namespace {

constexpr std::uint32_t kRowsAtOnce = 2048, kAlign = 32;

// One product after the other, through pinned memory on a stream of its own.
class Folding {
 public:
  Folding(Driver& driver, const FoldedTable& table, Precision precision, bool reproducible)
      : driver_(driver), table_(table), type_(operand_type(precision)) {
    std::int64_t width = 0;
    for (const FoldedTable::Term& term : table.terms) width += term.operand;
    const auto stride = static_cast<std::uint32_t>((width + kAlign - 1) / kAlign * kAlign);
    const auto rows = static_cast<std::uint32_t>(std::min<std::int64_t>(table.ids, kRowsAtOnce));
    const auto outputs = static_cast<std::uint32_t>(table.width);
    shape_ = {rows, outputs, stride, stride, outputs, precision, reproducible};
  }
  ~Folding() {
    if (stream_ == 0) return;
    (void)driver_.synchronise(stream_);
    driver_.destroy_stream(stream_);
  }
  Folding(const Folding&) = delete;
  Folding& operator=(const Folding&) = delete;

  Status prepare() {
    auto stream = driver_.make_stream();
    if (!stream) return tl::unexpected(stream.error());
    stream_ = *stream;
    const std::size_t size = element_bytes(type_);
    const std::size_t x_bytes = std::size_t{shape_.rows} * shape_.stride_k * size;
    const std::size_t w_bytes = std::size_t{shape_.outputs} * shape_.stride_k * size;
    const std::size_t out_bytes = std::size_t{shape_.rows} * shape_.outputs * sizeof(float);
    for (const auto& [to, bytes] :
         {std::pair{&x_, x_bytes}, {&w_, w_bytes}, {&out_, out_bytes}, {&workspace_, kWorkspaceBytes}}) {
      auto memory = DeviceMemory::make(driver_, bytes);
      if (!memory) return tl::unexpected(memory.error());
      *to = std::move(*memory);
    }
    for (const auto& [to, bytes] : {std::pair{&host_in_, x_bytes}, {&host_out_, out_bytes}}) {
      auto memory = PinnedMemory::make(driver_, bytes);
      if (!memory) return tl::unexpected(memory.error());
      *to = std::move(*memory);
    }
    if (Status ok = upload(driver_, stream_, w_.address(), packed_weights()); !ok) return ok;
    if (Status ok = fill_random(driver_, stream_, x_.address(), x_bytes / size, type_, 1); !ok) return ok;
    auto product = driver_.plan(shape_, call());
    if (!product) return tl::unexpected(product.error());
    product_ = *product;
    return {};
  }

  // Rows [first, first + count) of the table.
  Status run(std::int64_t first, std::int64_t count, float* to) {
    pack_rows(first, count);
    const std::size_t out_bytes = static_cast<std::size_t>(count) * shape_.outputs * sizeof(float);
    if (Status ok = driver_.copy(stream_, x_.address(), host_in_.address(), x_.size_bytes()); !ok) return ok;
    if (Status ok = driver_.launch(stream_, call()); !ok) return ok;
    if (Status ok = driver_.copy(stream_, host_out_.address(), out_.address(), out_bytes); !ok) return ok;
    if (Status ok = driver_.synchronise(stream_); !ok) return ok;
    std::memcpy(to, host_out_.host(), out_bytes);
    if (table_.bias == nullptr) return {};
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t k = 0; k < table_.width; ++k) to[row * table_.width + k] += table_.bias[k];
    }
    return {};
  }

  std::uint32_t rows() const { return shape_.rows; }

 private:
  ProductCall call() const {
    return {product_, x_.address(), w_.address(), out_.address(), workspace_.address()};
  }

  // [outputs][stride_k], all terms side by side.
  std::vector<std::byte> packed_weights() const {
    const std::size_t size = element_bytes(type_);
    std::vector<std::byte> packed(std::size_t{shape_.outputs} * shape_.stride_k * size);
    for (std::size_t j = 0; j < shape_.outputs; ++j) {
      std::byte* to = packed.data() + j * shape_.stride_k * size;
      for (const FoldedTable::Term& term : table_.terms) to = pack(term.weight, j, term.operand, to);
    }
    return packed;
  }
  void pack_rows(std::int64_t first, std::int64_t count) {
    for (std::int64_t row = 0; row < count; ++row) {
      std::byte* to =
          host_in_.host() + static_cast<std::size_t>(row) * shape_.stride_k * element_bytes(type_);
      for (const FoldedTable::Term& term : table_.terms)
        to = pack(term.rows, static_cast<std::size_t>(first + row), term.operand, to);
    }
  }
  std::byte* pack(const float* matrix, std::size_t row, std::int64_t width, std::byte* to) const {
    const float* from = matrix + row * static_cast<std::size_t>(width);
    for (std::int64_t k = 0; k < width; ++k, to += element_bytes(type_)) write_operand(to, type_, from[k]);
    return to;
  }

  Driver& driver_;
  const FoldedTable& table_;
  const ElementType type_;
  ProductShape shape_;
  ProductId product_ = 0;
  StreamId stream_ = 0;
  DeviceMemory x_, w_, out_, workspace_;
  PinnedMemory host_in_, host_out_;
};

}  // namespace

Status fold_rows(Driver& driver, Precision precision, bool reproducible, const FoldedTable& table,
                 float* out) {
  if (table.ids == 0 || table.width == 0) return {};
  Folding folding(driver, table, precision, reproducible);
  if (Status ok = folding.prepare(); !ok) return ok;
  for (std::int64_t first = 0; first < table.ids; first += folding.rows()) {
    const std::int64_t count = std::min<std::int64_t>(folding.rows(), table.ids - first);
    if (Status ok = folding.run(first, count, out + first * table.width); !ok) return ok;
  }
  return {};
}

}  // namespace volvox::gpu
