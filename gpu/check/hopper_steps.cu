// Every way to cut an LSTM step of GPUs of compute capability 9.0 into blocks: is it right, and how long does
// it take. Against a plain kernel in double precision, with random numbers and rows in random slots; what is
// to be written is poisoned before. Times are medians of replays of a graph of 50 steps, each reading what
// the one before it wrote: `us` one by one, `early_us` launched to begin early, `task_us` as a queue does it,
// with a kernel before each that begins early as well, and steps that wait for each other by a word in the
// GPU's memory. `folded`: the input's half of the product is in a table.
//
//   volvox-gpu-steps [FILE]    prints a line each; FILE gets all so far as JSON, whole after each.
//   volvox-gpu-steps --once    one launch of each, for two sizes, beside the plain one, and no time taken.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/fused/hopper_launch.cuh"

namespace {

using namespace volvox::gpu;  // NOLINT(google-build-using-namespace): a program about one folder

constexpr std::uint32_t kUnits = 1024, kSlots = 2048, kVocabulary = 32000, kSteps = 50, kRepeats = 41;
constexpr std::uint32_t kRowBytes = kUnits * 6, kShadow = kUnits * 4;
constexpr std::uint32_t kEvery = 24;  // of so many rows one brings a result home

void check(cudaError_t code, const char* doing) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(code));
}

template <class T>
class Memory {
 public:
  explicit Memory(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, count * sizeof(T)), "allocating");
  }
  explicit Memory(const std::vector<T>& values) : Memory(values.size()) {
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyDefault), "copying");
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { (void)cudaFree(data_); }
  T* data() const { return data_; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(data_); }
  std::vector<T> values() const {
    std::vector<T> all(count_);
    check(cudaMemcpy(all.data(), data_, count_ * sizeof(T), cudaMemcpyDefault), "copying");
    return all;
  }
  void poison() { check(cudaMemset(data_, 0xff, count_ * sizeof(T)), "poisoning"); }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

__device__ float random_number(std::uint64_t i, unsigned seed) {
  auto x = static_cast<unsigned>(i) * 2654435761U ^ seed;
  x = (x ^ x >> 16) * 0x7feb352dU;
  x = (x ^ x >> 15) * 0x846ca68bU;
  return static_cast<float>(x ^ x >> 16) / 2147483648.0F - 1;
}
// Numbers below `scale`, or their 16 bits.
__global__ void fill(float* to, __nv_bfloat16* to16, std::uint64_t count, unsigned seed, float scale) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const float x = random_number(i, seed) * scale;
    if (to != nullptr) to[i] = x;
    if (to16 != nullptr) to16[i] = __float2bfloat16_rn(x);
  }
}
// Rows of a plane: numbers, and behind them the same in 16 bits.
__global__ void fill_plane(std::byte* plane, unsigned seed) {
  std::byte* row = plane + std::uint64_t{blockIdx.x} * kRowBytes;
  for (unsigned k = threadIdx.x; k < kUnits; k += blockDim.x) {
    const float x = random_number(std::uint64_t{blockIdx.x} * kUnits + k, seed);
    reinterpret_cast<float*>(row)[k] = x;
    reinterpret_cast<__nv_bfloat16*>(row + kShadow)[k] = __float2bfloat16_rn(x);
  }
}
__global__ void pack(const __nv_bfloat16* weights, __nv_bfloat16* to, std::uint32_t width) {
  const std::uint64_t count = std::uint64_t{4} * kUnits * width;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const auto k = static_cast<std::uint32_t>(i % width), row = static_cast<std::uint32_t>(i / width);
    to[hopper::weight_at(width, row % kUnits, row / kUnits, k)] = weights[i];
  }
}

__device__ Element element(const LstmCall& call, std::uint32_t row) {
  return {&call.task.view, nullptr, call.task.places, 0, row, 0, 0};
}

// As a task's first kernel would.
struct Sources {
  Place places[kMaxSources];
};
__global__ void find_sources(const LstmCall call, const Sources sources, std::uint32_t count) {
  for (std::uint32_t row = threadIdx.x; row < call.task.rows; row += blockDim.x) {
    for (std::uint32_t s = 0; s < count; ++s)
      at<std::uint64_t>(call.task.view.sources[s])[row] =
          source_address(sources.places[s], element(call, row));
  }
}

// As a task's first kernel where all rows are known early.
struct Beginning {
  std::uint64_t state = 0, turn = 0;  // state: QueueState
};
__global__ void begin_task_early(const Beginning beginning) {
  launch_next_kernel();
  __syncthreads();
  if (threadIdx.x == 0) hand_over(&at<QueueState>(beginning.state)->resolved, beginning.turn);
}

// A thread a unit of a row. Leaves c and h where `plain` says: [row][unit].
__global__ void plain_step(const LstmCall call, const __nv_bfloat16* weights, float* c_out, float* h_out) {
  const std::uint32_t unit = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  Element e = element(call, row);
  double z[4];
  for (std::uint32_t g = 0; g < 4; ++g) {
    e.k = g * call.units + unit;
    z[g] = float_of(load_place(call.start, e));
    std::uint32_t column = 0;
    for (std::uint32_t t = 0; t < call.term_count; ++t) {
      const std::uint64_t from = source_address(call.terms[t], e);
      for (std::uint32_t k = 0; k < call.widths[t]; ++k, ++column) {
        const double x = from == 0 ? 0 : __bfloat162float(at<const __nv_bfloat16>(from)[k]);
        z[g] += x * __bfloat162float(weights[std::uint64_t{g * call.units + unit} * call.width + column]);
      }
    }
  }
  e.k = unit;
  const auto sigmoid = [](double x) { return 1 / (1 + exp(-x)); };
  const double c = sigmoid(z[1]) * float_of(load_place(call.c_in, e)) + sigmoid(z[0]) * tanh(z[2]);
  c_out[row * call.units + unit] = static_cast<float>(c);
  h_out[row * call.units + unit] = static_cast<float>(sigmoid(z[3]) * tanh(c));
}

// A kernel for a step.
struct Variant {
  std::uint32_t rows, split, mates;
  cudaError_t (*launch)(const LstmCall& call, cudaStream_t stream, bool early);

  std::uint32_t blocks(std::uint32_t task_rows) const {
    return (task_rows + rows * mates - 1) / (rows * mates) * mates * split * (kUnits / hopper::kUnits);
  }
};
template <class S>
constexpr Variant variant() {
  return {S::kRows, S::kSplit, S::kMates, hopper::launch<hopper::Bf16, S>};
}
// Those that queues choose from (hopper::cut_of), then those that are tried beside them.
using hopper::Shape;
constexpr Variant kChosen[] = {variant<Shape<128, 1>>(), variant<Shape<64, 1>>(), variant<Shape<64, 1, 2>>(),
                               variant<Shape<64, 2>>()};
constexpr Variant kTried[] = {variant<Shape<128, 2>>(), variant<Shape<128, 1, 2>>()};

struct Found {
  std::uint32_t rows = 0, width = 0;
  const Variant* cut = nullptr;
  double worst = 0, us = 0, early_us = 0, task_us = 0;
  std::size_t wrong = 0;
};

// Tables that all share.
struct Tables {
  Memory<__nv_bfloat16> inputs{std::size_t{kVocabulary} * kUnits};
  Memory<float> starts{std::size_t{kVocabulary} * 4 * kUnits}, bias{4 * kUnits};
  Tables() {
    fill<<<1024, 256>>>(nullptr, inputs.data(), std::uint64_t{kVocabulary} * kUnits, 1, 1);
    fill<<<1024, 256>>>(starts.data(), nullptr, std::uint64_t{kVocabulary} * 4 * kUnits, 2, 1);
    fill<<<16, 256>>>(bias.data(), nullptr, 4 * kUnits, 3, 1);
  }
};

class World {
 public:
  World(const Tables& tables, std::uint32_t rows, bool folded)
      : rows_(rows), input_(folded ? 0 : kUnits), width_(input_ + kUnits) {
    std::mt19937 random(rows);
    std::vector<std::uint32_t> slots(kSlots);
    for (std::uint32_t i = 0; i < kSlots; ++i) slots[i] = i;
    std::shuffle(slots.begin(), slots.end(), random);
    from_ = std::vector(slots.begin(), slots.begin() + rows);
    to_ = std::vector(slots.begin() + rows, slots.begin() + 2 * rows);
    slots_[0] = std::make_unique<Memory<std::uint32_t>>(from_);
    slots_[1] = std::make_unique<Memory<std::uint32_t>>(to_);
    std::vector<std::int32_t> tokens(rows);
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % kVocabulary);
    tokens[0] = -1;  // not in the table
    tokens_ = std::make_unique<Memory<std::int32_t>>(tokens);
    std::vector<std::uint64_t> pulls(rows);
    for (std::uint32_t r = 0; r < rows; ++r) pulls[r] = tokens_->address() + r * 4;
    for (auto& sources : sources_)
      sources = std::make_unique<Memory<std::uint64_t>>(std::size_t{kMaxSources} * rows);
    pulls_ = std::make_unique<Memory<std::uint64_t>>(pulls);
    check(cudaHostAlloc(&home_, std::size_t{rows} * kUnits * 4, cudaHostAllocMapped), "pinning");
    std::vector<std::uint64_t> pushes(std::size_t{rows} * kTargets);
    for (std::uint32_t r = 0; r < rows; r += kEvery)
      pushes[r * kTargets + 1] = reinterpret_cast<std::uintptr_t>(home_ + std::size_t{r} * kUnits);
    pushes_ = std::make_unique<Memory<std::uint64_t>>(pushes);
    std::vector<std::uint32_t> wanted(rows);
    for (std::uint32_t r = 0; r < rows; r += kEvery) wanted[r] = 1;
    wanted_ = std::make_unique<Memory<std::uint32_t>>(wanted);
    Place token;
    token.kind = Place::Kind::kInput;
    token.type = ElementType::kI32;
    places_ = std::make_unique<Memory<Place>>(std::vector{token});
    header_ = std::make_unique<Memory<TaskHeader>>(std::vector<TaskHeader>(1));
    state_ = std::make_unique<Memory<QueueState>>(std::vector<QueueState>(1));
    completion_ = std::make_unique<Memory<Completion>>(std::vector<Completion>(1));
    weights_ = std::make_unique<Memory<__nv_bfloat16>>(std::size_t{4} * kUnits * width_);
    packed_ = std::make_unique<Memory<__nv_bfloat16>>(std::size_t{4} * kUnits * width_);
    fill<<<1024, 256>>>(nullptr, weights_->data(), std::uint64_t{4} * kUnits * width_, 4, 0.05F);
    packed_->poison();
    pack<<<1024, 256>>>(weights_->data(), packed_->data(), width_);
    describe(tables);
    check(cudaDeviceSynchronize(), "preparing");
  }
  ~World() { (void)cudaFreeHost(home_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // One step beside the plain one.
  Found compare(const Variant& cut, cudaStream_t stream) {
    Found found{rows_, width_, &cut};
    compare(found, stream);
    return found;
  }
  Found run(const Variant& cut, cudaStream_t stream) {
    Found found = compare(cut, stream);
    found.us = time(cut, stream, Way::kPlain);
    found.early_us = time(cut, stream, Way::kEarly);
    found.task_us = time(cut, stream, Way::kTasks);
    compare_last(found, cut, stream);
    return found;
  }

 private:
  enum class Way : std::uint8_t { kPlain, kEarly, kTasks };

  void describe(const Tables& tables) {
    call_.task.queue = {header_->address(), 0, state_->address(), completion_->address()};
    call_.task.view.pulls[0] = pulls_->address();
    call_.task.view.pushes[0] = pushes_->address();
    call_.task.view.wanted = wanted_->address();
    call_.task.places = places_->address();
    call_.task.rows = rows_;
    Place table;
    table.kind = Place::Kind::kTable;
    table.rows = kVocabulary;
    if (input_ > 0) {
      Place& inputs = call_.terms[call_.term_count];
      inputs = table;
      inputs.type = ElementType::kBf16;
      inputs.base = tables.inputs.address();
      inputs.stride_bytes = input_ * 2;
      call_.widths[call_.term_count++] = input_;
      call_.start.kind = Place::Kind::kVector;
      call_.start.base = tables.bias.address();
    } else {
      call_.start = table;
      call_.start.base = tables.starts.address();
      call_.start.stride_bytes = 4 * kUnits * 4;
    }
    const auto plane = [&](const Memory<std::byte>& memory, Place::Kind kind) {
      Place place;
      place.kind = kind;
      place.base = memory.address();
      place.stride_bytes = kRowBytes;
      return place;
    };
    Place& h = call_.terms[call_.term_count];
    h = plane(h_, Place::Kind::kPlane);
    h.type = ElementType::kBf16;
    h.base += kShadow;
    call_.widths[call_.term_count++] = kUnits;
    call_.width = width_;
    call_.units = kUnits;
    call_.weights = packed_->address();
    call_.c_in = plane(c_, Place::Kind::kPlane);
    call_.h_out = plane(h_, Place::Kind::kOut);
    call_.c_out = plane(c_, Place::Kind::kOut);
    call_.h_out.shadow = kShadow;
    call_.h_push[0].kind = Place::Kind::kResult;
    call_.h_pushes = 1;
  }

  // Step 0 reads the slots from_ and writes to_; step 1 goes back.
  LstmCall step(unsigned turn) const {
    LstmCall call = call_;
    call.task.view.gathers[0] = slots_[turn % 2]->address();
    call.task.view.out = slots_[1 - turn % 2]->address();
    for (std::uint32_t s = 0; s < kMaxSources; ++s)
      call.task.view.sources[s] =
          sources_[turn % 2]->address() + std::uint64_t{s} * rows_ * sizeof(std::uint64_t);
    return call;
  }

  void resolve() const {
    for (unsigned turn = 0; turn < 2; ++turn) {
      const LstmCall call = step(turn);
      Sources sources;
      const std::uint32_t count = lstm_sources(call, sources.places);
      find_sources<<<1, 512>>>(call, sources, count);
    }
  }

  void compare(Found& found, cudaStream_t stream) {
    resolve();
    fill_plane<<<kSlots, 256>>>(h_.data(), 5);
    fill_plane<<<kSlots, 256>>>(c_.data(), 6);
    check(cudaDeviceSynchronize(), "filling");
    for (std::uint32_t slot : to_) {
      for (const Memory<std::byte>* plane : {&h_, &c_})
        check(cudaMemset(plane->data() + std::size_t{slot} * kRowBytes, 0xff, kRowBytes), "poisoning");
    }
    std::memset(home_, 0xff, std::size_t{rows_} * kUnits * 4);
    const std::vector<std::byte> h_before = h_.values(), c_before = c_.values();
    Memory<float> c_plain(std::size_t{rows_} * kUnits), h_plain(std::size_t{rows_} * kUnits);
    plain_step<<<dim3(kUnits / 128, rows_), 128>>>(step(0), weights_->data(), c_plain.data(), h_plain.data());
    check(cudaDeviceSynchronize(), "the plain step");
    check(cudaMemsetAsync(state_->data(), 0, sizeof(QueueState), stream), "clearing");
    LstmCall call = step(0);
    call.task.turn = call.task.seq = 1;
    check(found.cut->launch(call, stream, false), "launching");
    check(cudaStreamSynchronize(stream), "a step");
    const auto h = h_.values(), c = c_.values();
    const auto hp = h_plain.values(), cp = c_plain.values();
    std::vector<bool> written(kSlots);
    for (std::uint32_t r = 0; r < rows_; ++r) {
      written[to_[r]] = true;
      const std::byte *h_row = h.data() + std::size_t{to_[r]} * kRowBytes,
                      *c_row = c.data() + std::size_t{to_[r]} * kRowBytes;
      for (std::uint32_t k = 0; k < kUnits; ++k) {
        float is_h, is_c;
        std::uint16_t bits;
        std::memcpy(&is_h, h_row + k * 4, 4);
        std::memcpy(&is_c, c_row + k * 4, 4);
        std::memcpy(&bits, h_row + kShadow + k * 2, 2);
        const std::size_t i = std::size_t{r} * kUnits + k;
        const double off = std::max(std::abs(is_h - hp[i]), std::abs(is_c - cp[i]));
        if (off > found.worst) found.worst = off;
        const bool same = bits == to_bfloat16(is_h) && (r % kEvery != 0 || home_[i] == is_h);
        if (!(off < 1e-2) || !same) ++found.wrong;
      }
    }
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      const std::size_t begin = std::size_t{slot} * kRowBytes;
      if (!written[slot] && (std::memcmp(&h[begin], &h_before[begin], kRowBytes) != 0 ||
                             std::memcmp(&c[begin], &c_before[begin], kRowBytes) != 0))
        ++found.wrong;
    }
  }

  // Steps one after the other, as many as a graph has.
  void chain(const Variant& cut, cudaStream_t stream, Way way) const {
    check(cudaMemsetAsync(state_->data(), 0, sizeof(QueueState), stream), "clearing");
    for (unsigned i = 0; i < kSteps; ++i) {
      LstmCall call = step(i);
      call.task.turn = call.task.seq = i + 1;
      if (way == Way::kTasks) {
        call.task.chained = i > 0 ? 1 : 0;
        const Beginning beginning{state_->address(), call.task.turn};
        check(static_cast<cudaError_t>(launch(begin_task_early, 1, 512, 0, stream, beginning, i > 0)),
              "launching");
      }
      const bool early = way == Way::kTasks || (way == Way::kEarly && i > 0);
      check(cut.launch(call, stream, early), "launching");
    }
  }

  // What a chain of tasks that wait for each other leaves is what one of steps one by one does, bit for bit.
  void compare_last(Found& found, const Variant& cut, cudaStream_t stream) {
    std::vector<std::byte> left[2][2];
    for (const Way way : {Way::kPlain, Way::kTasks}) {
      fill_plane<<<kSlots, 256>>>(h_.data(), 5);
      fill_plane<<<kSlots, 256>>>(c_.data(), 6);
      check(cudaDeviceSynchronize(), "filling");
      chain(cut, stream, way);
      check(cudaStreamSynchronize(stream), "a chain");
      left[way == Way::kTasks][0] = h_.values();
      left[way == Way::kTasks][1] = c_.values();
    }
    if (left[0][0] != left[1][0] || left[0][1] != left[1][1]) ++found.wrong;
  }

  double time(const Variant& cut, cudaStream_t stream, Way way) const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capturing");
    chain(cut, stream, way);
    check(cudaStreamEndCapture(stream, &graph), "capturing");
    check(cudaGraphInstantiate(&ready, graph, 0), "capturing");
    cudaEvent_t begin = nullptr, end = nullptr;
    check(cudaEventCreate(&begin), "making an event");
    check(cudaEventCreate(&end), "making an event");
    std::vector<double> times;
    for (unsigned i = 0; i < kRepeats + 3; ++i) {
      check(cudaEventRecord(begin, stream), "recording");
      check(cudaGraphLaunch(ready, stream), "launching");
      check(cudaEventRecord(end, stream), "recording");
      check(cudaEventSynchronize(end), "waiting");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end), "timing");
      if (i >= 3) times.push_back(double{ms} * 1e3 / kSteps);
    }
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    (void)cudaGraphExecDestroy(ready);
    (void)cudaGraphDestroy(graph);
    std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
    return times[kRepeats / 2];
  }

  const std::uint32_t rows_, input_, width_;
  std::vector<std::uint32_t> from_, to_;
  std::unique_ptr<Memory<std::uint32_t>> slots_[2], wanted_;
  std::unique_ptr<Memory<std::int32_t>> tokens_;
  std::unique_ptr<Memory<std::uint64_t>> pulls_, pushes_, sources_[2];
  std::unique_ptr<Memory<Place>> places_;
  std::unique_ptr<Memory<TaskHeader>> header_;
  std::unique_ptr<Memory<QueueState>> state_;
  std::unique_ptr<Memory<Completion>> completion_;
  std::unique_ptr<Memory<__nv_bfloat16>> weights_, packed_;
  Memory<std::byte> h_{std::size_t{kSlots} * kRowBytes}, c_{std::size_t{kSlots} * kRowBytes};
  float* home_ = nullptr;
  LstmCall call_;
};

std::string row(const Found& f) {
  char text[256];
  (void)std::snprintf(text, sizeof text,
                      "{\"rows\": %u, \"width\": %u, \"tile\": %u, \"split\": %u, \"mates\": %u, \"worst\": "
                      "%.3g, \"wrong\": %zu, "
                      "\"us\": %.2f, \"early_us\": %.2f, \"task_us\": %.2f}",
                      f.rows, f.width, f.cut->rows, f.cut->split, f.cut->mates, f.worst, f.wrong, f.us,
                      f.early_us, f.task_us);
  return text;
}

void keep(const std::string& file, const std::vector<std::string>& rows) {
  if (file.empty()) return;
  std::string text = "{\"steps\": [";
  for (const std::string& one : rows) text += (one == rows.front() ? "" : ",\n") + one;
  std::FILE* to = std::fopen((file + ".new").c_str(), "w");
  if (to == nullptr) return;
  (void)std::fputs((text + "]}\n").c_str(), to);
  if (std::fclose(to) == 0) (void)std::rename((file + ".new").c_str(), file.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string argument = count > 1 ? arguments[1] : "";
  const bool once = argument == "--once";  // each kernel once, of two sizes, and not timed: for sanitizers
  const std::string file = once ? "" : argument;
  try {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "describing a GPU");
    if (properties.major != 9) {
      std::printf("%s is not of compute capability 9.0: it has no such kernel\n", properties.name);
      return 0;
    }
    const Tables tables;
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    std::vector<std::string> rows;
    bool good = true;
    const auto run_all = [&](std::span<const Variant> variants) {
      for (bool folded : {true, false}) {
        for (std::uint32_t tasks : {7U, 64U, 100U, 128U, 256U, 384U, 512U}) {
          if (once && tasks != 7U && tasks != 256U) continue;
          World world(tables, tasks, folded);
          for (const Variant& cut : variants) {
            if (cut.blocks(tasks) > static_cast<unsigned>(properties.multiProcessorCount) ||
                (cut.mates > 1 && tasks <= cut.rows))
              continue;
            const Found found = once ? world.compare(cut, stream) : world.run(cut, stream);
            good = good && found.wrong == 0;
            rows.push_back(row(found));
            std::printf("%s\n", rows.back().c_str());
            std::fflush(stdout);
            keep(file, rows);
          }
        }
      }
    };
    run_all(kChosen);
    run_all(kTried);
    return good ? 0 : 1;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "volvox-gpu-steps: %s\n", why.what());
    return 3;
  }
}
