#include "simulation/bench/onednn_step.h"

#ifdef VOLVOX_HAVE_ONEDNN

#include <unordered_map>
#include <vector>

#include <dlfcn.h>
#include <dnnl.hpp>

namespace volvox::bench {
namespace {

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;

dnnl::memory::desc floats(const Dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

// oneDNN runs on OpenMP's threads, which only OpenMP's own library can count.
void use_threads(std::uint32_t threads) {
  using SetThreads = void (*)(int);
  static const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(static_cast<int>(threads));
}

class Step final : public OneDnnStep {
 public:
  Step(std::uint32_t input, std::uint32_t hidden, std::uint32_t batch, std::uint32_t threads)
      : threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const std::int64_t in = input, h = hidden, n = batch;
    const auto x = floats({1, n, in}, Tag::tnc), y = floats({1, n, h}, Tag::tnc),
               state = floats({1, 1, n, h}, Tag::ldnc);
    const dnnl::lstm_forward::desc desc(dnnl::prop_kind::forward_inference,
                                        dnnl::rnn_direction::unidirectional_left2right, x, state, state,
                                        floats({1, 1, in, 4, h}, Tag::any), floats({1, 1, h, 4, h}, Tag::any),
                                        floats({1, 1, 4, h}, Tag::ldgo), y, state, state);
    const dnnl::lstm_forward::primitive_desc chosen(desc, engine_);
    add(DNNL_ARG_SRC_LAYER, chosen.src_layer_desc());
    add(DNNL_ARG_SRC_ITER, chosen.src_iter_desc());
    add(DNNL_ARG_SRC_ITER_C, chosen.src_iter_c_desc());
    add(DNNL_ARG_WEIGHTS_LAYER, chosen.weights_layer_desc(), floats({1, 1, in, 4, h}, Tag::ldigo));
    add(DNNL_ARG_WEIGHTS_ITER, chosen.weights_iter_desc(), floats({1, 1, h, 4, h}, Tag::ldigo));
    add(DNNL_ARG_BIAS, chosen.bias_desc());
    add(DNNL_ARG_DST_LAYER, chosen.dst_layer_desc());
    add(DNNL_ARG_DST_ITER, chosen.dst_iter_desc());
    add(DNNL_ARG_DST_ITER_C, chosen.dst_iter_c_desc());
    step_ = dnnl::lstm_forward(chosen);
  }

  void run() override {
    use_threads(threads_);
    step_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  // Small numbers of both signs, so that nothing is denormal or saturated.
  dnnl::memory filled(const dnnl::memory::desc& desc) {
    dnnl::memory memory(desc, engine_);
    auto* data = static_cast<float*>(memory.get_data_handle());
    const std::size_t count = desc.get_size() / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<float>(i * 37 % 201) * 1e-4F - 1e-2F;
    return memory;
  }
  void add(int argument, const dnnl::memory::desc& desc) { arguments_.emplace(argument, filled(desc)); }
  // Packed weights have a layout of their own: they are made from plain ones.
  void add(int argument, const dnnl::memory::desc& desc, const dnnl::memory::desc& plain) {
    dnnl::memory from = filled(plain);
    dnnl::memory to(desc, engine_);
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    arguments_.emplace(argument, to);
  }

  const std::uint32_t threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::lstm_forward step_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

std::unique_ptr<OneDnnStep> OneDnnStep::make(std::uint32_t input, std::uint32_t hidden, std::uint32_t batch,
                                             std::uint32_t threads) {
  try {
    use_threads(threads);  // oneDNN divides the work when it makes the step
    return std::make_unique<Step>(input, hidden, batch, threads);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace volvox::bench

#else

namespace volvox::bench {

std::unique_ptr<OneDnnStep> OneDnnStep::make(std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t) {
  return nullptr;
}

}  // namespace volvox::bench

#endif
