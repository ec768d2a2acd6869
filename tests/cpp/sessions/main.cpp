// Prints a line for each thing that sessions promise; "sessions BUNDLE".

#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "Counter.h"

namespace {

using toolchain::Result;
using toolchain::Tensor;
using toolchain::TensorView;

constexpr int kThreads = 4, kCalls = 50;

// 64 bytes are what a device needs to share memory.
struct alignas(64) Block {
  float values[16];
};

Block filled(float value) {
  Block block;
  for (float& element : block.values) element = value;
  return block;
}

void report(const char* what, bool holds) { std::printf("%s: %s\n", what, holds ? "yes" : "NO"); }

// The count after a call with these elements; -1 if it fails.
float count_after(Counter& counter, const Block& block) {
  const auto result = counter(TensorView(block.values, {16}));
  if (!result) return -1;
  const auto count = std::get<1>(*result).to_vector<float>();
  return count ? count->front() : -1;
}

// Several threads at once, each with `counters[i]`.
void call_from_threads(const std::vector<Counter*>& counters) {
  std::vector<std::thread> threads;
  for (Counter* counter : counters) {
    threads.emplace_back([counter] {
      const Block ones = filled(1);
      for (int i = 0; i < kCalls; ++i) count_after(*counter, ones);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::optional<Tensor> outliving(const std::string& folder) {
  auto counter = Counter::load(folder);
  if (!counter) return std::nullopt;
  Block block = filled(3);
  const auto result = (*counter)(TensorView(block.values, {16}));
  block = filled(4);
  if (!result) return std::nullopt;
  return std::get<0>(*result);
}

}  // namespace

int main(int, char** arguments) {
  auto counter = Counter::load(arguments[1]);
  if (!counter) {
    std::puts(counter.error().describe().c_str());
    return 1;
  }
  const Block ones = filled(1), none = filled(0);
  call_from_threads(std::vector<Counter*>(kThreads, &*counter));
  report("calls on one session take turns", count_after(*counter, none) == 16.0f * kThreads * kCalls);

  std::vector<Counter> clones;
  std::vector<Counter*> each;
  for (int i = 0; i < kThreads; ++i) clones.push_back(*counter->clone());
  for (Counter& clone : clones) each.push_back(&clone);
  call_from_threads(each);
  bool independent = true;
  for (Counter& clone : clones) independent &= count_after(clone, none) == 16.0f * kCalls;
  report("clones have states of their own", independent);

  counter->reset();
  report("a reset goes back to the start", count_after(*counter, ones) == 16.0f);

  const std::optional<Tensor> kept = outliving(arguments[1]);
  const auto values = kept ? kept->to_vector<float>() : Result<std::vector<float>>(std::vector<float>());
  report("results outlive sessions and arguments", values && *values == std::vector<float>(16, 3.0f));
}
