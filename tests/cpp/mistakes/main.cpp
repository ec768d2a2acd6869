// Makes a mistake and prints what comes of it: "mistakes NAME BUNDLE TARGET".
//
// Prints the code of an error, "<type>: <text>" of an exception of the program, or the sum of the result.

#include <cstdio>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "Net.h"

namespace {

using toolchain::Dims;
using toolchain::TensorView;

// Wrong numbers of arguments do not compile.
static_assert(std::is_invocable_v<Net&, const TensorView&, const TensorView&>);
static_assert(!std::is_invocable_v<Net&, const TensorView&>);

std::string shown(const toolchain::Error& error) {
  return error.exception().empty() ? error.code() : error.exception() + ": " + error.message();
}

template <class T>
std::string call(Net& net, const Dims& dims, int64_t count) {
  const std::vector<T> x(toolchain::count_elements(dims), T{1});
  const auto result = net(TensorView(x.data(), dims), TensorView(&count, {}));
  if (!result) return shown(result.error());
  const auto values = result->to_vector<float>();
  if (!values) return shown(values.error());
  return std::to_string(std::accumulate(values->begin(), values->end(), 0.0));
}

std::string outcome(Net& net, const std::string& mistake) {
  if (mistake == "dtype") return call<double>(net, {2, 4}, 1);
  if (mistake == "rank") return call<float>(net, {4}, 1);
  if (mistake == "extent") return call<float>(net, {2, 5}, 1);
  if (mistake == "negative size") return call<float>(net, {2, 4}, -1);
  return call<float>(net, {2, 4}, 1);
}

}  // namespace

int main(int, char** arguments) {
  const std::string mistake = arguments[1];
  toolchain::LoadOptions options;
  options.target = arguments[3];
  auto net = Net::load(arguments[2], "local-sync", options);
  std::puts(net ? outcome(*net, mistake).c_str() : shown(net.error()).c_str());
  if (net) std::puts(outcome(*net, "none").c_str());
}
