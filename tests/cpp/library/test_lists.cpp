#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "toolchain/hostops.h"

namespace toolchain {
namespace {

using Ints = List<int64_t>;
using Floats = std::vector<float>;

TEST(Lists, AreValues) {
  const Ints a = {1, 2, 3};
  EXPECT_EQ(ops::list_append(a, int64_t{4}), (Ints{1, 2, 3, 4}));
  EXPECT_EQ(ops::list_extend(a, a), (Ints{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(ops::list_reverse(a), (Ints{3, 2, 1}));
  EXPECT_EQ(*ops::list_set(a, -1, int64_t{9}), (Ints{1, 2, 9}));
  EXPECT_EQ(a, (Ints{1, 2, 3}));
  EXPECT_EQ(ops::list_len(a), 3);
}

TEST(Lists, CountNegativePositionsFromTheEnd) {
  const Ints a = {1, 2, 3};
  EXPECT_EQ(*ops::list_get(a, -3), 1);
  EXPECT_EQ(*ops::list_pop(a, -1), (Ints{1, 2}));
  EXPECT_EQ(ops::list_insert(a, -1, int64_t{7}), (Ints{1, 2, 7, 3}));
  EXPECT_EQ(ops::list_insert(a, -9, int64_t{7}), (Ints{7, 1, 2, 3}));
  EXPECT_EQ(ops::list_insert(a, 9, int64_t{7}), (Ints{1, 2, 3, 7}));
}

TEST(Lists, RaiseWhatPythonRaises) {
  const Ints a = {1};
  EXPECT_EQ(ops::list_get(a, 1).error().describe(), "IndexError: list index out of range");
  EXPECT_EQ(ops::list_set(a, -2, int64_t{0}).error().describe(), "IndexError: list assignment index out of range");
  EXPECT_EQ(ops::list_pop(a, 1).error().describe(), "IndexError: pop index out of range");
  EXPECT_EQ(ops::list_pop(Ints{}, 0).error().describe(), "IndexError: pop from empty list");
}

TEST(Lists, SlicesNeverFail) {
  const Ints a = {0, 1, 2, 3};
  EXPECT_EQ(ops::list_slice(a, std::nullopt, std::nullopt), a);
  EXPECT_EQ(ops::list_slice(a, 1, -1), (Ints{1, 2}));
  EXPECT_EQ(ops::list_slice(a, -99, 2), (Ints{0, 1}));
  EXPECT_EQ(ops::list_slice(a, 3, 1), Ints{});
  EXPECT_EQ(ops::list_slice(a, 2, 99), (Ints{2, 3}));
}

TEST(Lists, HoldBoolsTuplesAndLists) {
  EXPECT_EQ(*ops::list_get(List<bool>{true, false}, 1), false);
  EXPECT_EQ(*ops::list_set(List<bool>{true, false}, 1, true), (List<bool>{true, true}));
  const List<std::tuple<int64_t, double>> pairs = {{1, 0.5}, {2, 1.5}};
  EXPECT_EQ(std::get<1>(*ops::list_get(pairs, 1)), 1.5);
  EXPECT_EQ(ops::list_append(List<Ints>{{1}}, Ints{2, 3}), (List<Ints>{{1}, {2, 3}}));
}

const Device& device() {
  static const Device opened = *Device::open("local-sync");
  return opened;
}

Tensor tensor(const Floats& values, const Dims& dims) {
  return *tensors::upload(device(), values.data(), DType::float32, dims);
}

TEST(Lists, OfTensorsAreStacked) {
  const Tensor stacked = *ops::list_stack({tensor({1, 2}, {2}), tensor({3, 4}, {2})});
  EXPECT_EQ(stacked.dims(), (Dims{2, 2}));
  EXPECT_EQ(*stacked.to_vector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(ops::list_stack({}).error().describe(), "RuntimeError: stack expects a non-empty list of tensors");
  EXPECT_EQ(ops::list_stack({tensor({1, 2}, {2}), tensor({3}, {1})}).error().describe(),
            "RuntimeError: stack expects each tensor to be equal size, but got [2] at entry 0 and [1] at entry 1");
}

TEST(Lists, OfTensorsAreJoined) {
  const Tensor a = tensor({1, 2, 3, 4}, {2, 2}), b = tensor({5, 6}, {2, 1}), none = tensor({}, {0});
  EXPECT_EQ(*ops::list_cat({a, b, none}, 1)->to_vector<float>(), (Floats{1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(*ops::list_cat({a, b}, -1)->to_vector<float>(), (Floats{1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(ops::list_cat({a, a}, 0)->dims(), (Dims{4, 2}));
  EXPECT_EQ(ops::list_cat({none, none}, 0)->dims(), Dims{0});
  EXPECT_EQ(ops::list_cat({tensor({}, {0, 2}), a}, 0)->dims(), (Dims{2, 2}));
  EXPECT_EQ(ops::list_cat({a, b}, 0).error().exception(), "RuntimeError");
  EXPECT_EQ(ops::list_cat({}, 0).error().describe(), "RuntimeError: torch.cat() expects a non-empty list of tensors");
}

TEST(Lists, BecomeTensorsAndBack) {
  const Tensor t = *ops::list_tensor(device(), Ints{1, 2, 3}, DType::int64);
  EXPECT_EQ(*ops::tensor_list<Ints>(t), (Ints{1, 2, 3}));
  EXPECT_EQ(*ops::tensor_list<List<double>>(*ops::list_tensor(device(), List<double>{0.5}, DType::float16)), List<double>{0.5});
  EXPECT_EQ(*ops::tensor_list<List<bool>>(*ops::list_tensor(device(), List<bool>{true, false}, DType::boolean)),
            (List<bool>{true, false}));
  const Tensor grid = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(*ops::tensor_list<List<List<double>>>(grid), (List<List<double>>{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(*ops::tensor_list<List<List<double>>>(tensor({}, {2, 0})), (List<List<double>>{{}, {}}));
  EXPECT_EQ(ops::list_tensor(device(), Ints{300}, DType::int8).error().exception(), "RuntimeError");
  EXPECT_EQ(ops::list_tensor(device(), Ints{}, DType::int64)->dims(), Dims{0});
}

}  // namespace
}  // namespace toolchain
