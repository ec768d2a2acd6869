// Supplies the functions that a network calls, rightly and wrongly, and prints what comes of it: "host_calls BUNDLE".

#include <cstdio>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "Net.h"

namespace {

using toolchain::Error;
using toolchain::Result;
using toolchain::Tensor;
using Spelled = Result<std::tuple<std::string, Tensor>>;

std::string shown(const Error& error) {
  return error.exception().empty() ? error.code() : error.exception() + ": " + error.message();
}

// The text of ids, and those of them that are not 0.
Spelled spell(const Tensor& ids, const std::string& separator) {
  TOOLCHAIN_ASSIGN(const std::vector<int64_t> values, ids.to_vector<int64_t>());
  std::string text;
  std::vector<int64_t> letters;
  for (int64_t value : values) {
    text += (text.empty() ? "" : separator) + std::to_string(value);
    if (value) letters.push_back(value);
  }
  if (letters.empty()) return Error::raised("ValueError", "no letters in " + text);
  const toolchain::Dims dims = {static_cast<int64_t>(letters.size())};
  TOOLCHAIN_ASSIGN(Tensor tensor, toolchain::tensors::upload(ids.device(), letters.data(), ids.dtype(), dims));
  return std::tuple(text, tensor);
}

std::vector<std::string> notes;

toolchain::Status note(int64_t count, bool is_long, toolchain::None) {
  notes.push_back(std::to_string(count) + (is_long ? " long" : " short"));
  return {};
}

std::string called(Net& net, const std::vector<int64_t>& ids) {
  const auto result = net(toolchain::TensorView(ids.data(), {static_cast<int64_t>(ids.size())}));
  if (!result) return shown(result.error());
  const auto& [text, letters] = *result;
  const auto values = letters.to_vector<int64_t>();
  if (!values) return shown(values.error());
  return text + " " + std::to_string(std::accumulate(values->begin(), values->end(), int64_t{0}));
}

std::string loaded(const std::string& bundle, Net::HostCalls functions) {
  auto net = Net::load(bundle, "local-sync", {}, std::move(functions));
  return net ? called(*net, {1, 0, 2}) : shown(net.error());
}

}  // namespace

int main(int, char** arguments) {
  const std::string bundle = arguments[1];
  auto net = Net::load(bundle, "local-sync", {}, {spell, note});
  if (!net) return std::puts(shown(net.error()).c_str());
  auto other = net->clone();
  for (const auto& ids : std::vector<std::vector<int64_t>>{{1, 0, 2}, {5, 6, 7, 8}, {0, 0}}) {
    std::puts(called(*net, ids).c_str());
    std::puts(other ? called(*other, ids).c_str() : "no clone");
  }
  for (const std::string& line : notes) std::puts(line.c_str());

  std::puts(loaded(bundle, {}).c_str());
  std::puts(loaded(bundle, {spell, {}}).c_str());
  // Another dtype, another rank, no tensor at all.
  const auto wrong = [](toolchain::DType dtype, const toolchain::Dims& dims) {
    return [=](const Tensor& ids, const std::string&) -> Spelled {
      const std::vector<uint8_t> zeros(64);
      TOOLCHAIN_ASSIGN(Tensor tensor, toolchain::tensors::upload(ids.device(), zeros.data(), dtype, dims));
      return std::tuple(std::string(), tensor);
    };
  };
  std::puts(loaded(bundle, {wrong(toolchain::DType::float32, {2}), note}).c_str());
  std::puts(loaded(bundle, {wrong(toolchain::DType::int64, {2, 1}), note}).c_str());
  std::puts(loaded(bundle, {[](const Tensor&, const std::string&) -> Spelled {
                              return std::tuple(std::string(), Tensor());
                            }, note}).c_str());
}
