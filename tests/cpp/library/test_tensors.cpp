#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "toolchain/toolchain.h"

namespace toolchain {
namespace {

const Device& device() {
  static const Device opened = *Device::open("local-sync");
  return opened;
}

Tensor tensor(const std::vector<float>& values, const Dims& dims) {
  return *tensors::upload(device(), values.data(), DType::float32, dims);
}

TEST(Devices, ThatDoNotExistAreRefused) {
  const auto opened = Device::open("teleporter");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), "RT302");
}

TEST(Devices, OfTheHostNeedNoCopies) {
  EXPECT_TRUE(device().is_host());
  EXPECT_EQ(device().kind(), "cpu");
  EXPECT_EQ(Device::open("cpu")->uri(), "local-sync");
}

TEST(Tensors, KnowTheirShapeAndElements) {
  const Tensor t = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(t.dims(), (Dims{2, 3}));
  EXPECT_EQ(t.rank(), 2u);
  EXPECT_EQ(t.element_count(), 6u);
  EXPECT_EQ(*t.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(t.to_vector<double>().error().code(), "RT206");
}

TEST(Tensors, MayBeEmptyOrHoldBools) {
  EXPECT_TRUE(tensor({}, {0, 3}).to_vector<float>()->empty());
  const bool flags[] = {true, false, true};
  const Tensor t = *tensors::upload(device(), flags, DType::boolean, {3});
  EXPECT_EQ(*t.to_vector<bool>(), (std::vector<bool>{true, false, true}));
}

TEST(Tensors, KeepWhatTheyShareAlive) {
  struct alignas(64) Block {
    float values[16];
  };
  auto owner = std::make_shared<Block>();
  owner->values[3] = 7;
  const std::weak_ptr<Block> watch = owner;
  ASSERT_TRUE(tensors::can_share(device(), owner->values, sizeof owner->values));
  Tensor t = *tensors::share(device(), owner->values, DType::float32, {16}, owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ((*t.to_vector<float>())[3], 7);
  t = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensors, OutliveTheDevicesHandle) {
  Tensor t;
  {
    const Device own = *Device::open("local-task");
    const int64_t values[] = {4, 5};
    t = *tensors::upload(own, values, DType::int64, {2});
  }
  EXPECT_EQ(*t.to_vector<int64_t>(), (std::vector<int64_t>{4, 5}));
}

constexpr DimInfo kDims[] = {{1, -1}, {3, 3}, {0, 8}};
constexpr InputInfo kInput = {"x", DType::float32, kDims};

std::string misfit(DType dtype, const Dims& dims) {
  const Status status = arguments::check(TensorView(nullptr, dtype, dims), kInput);
  return status ? "" : status.error().code() + " " + status.error().message();
}

TEST(Arguments, AreChecked) {
  EXPECT_EQ(misfit(DType::float32, {5, 3, 8}), "");
  EXPECT_EQ(misfit(DType::float64, {5, 3, 8}), "RT202 argument 'x': expected float32, found float64");
  EXPECT_EQ(misfit(DType::float32, {5, 3}), "RT203 argument 'x': expected 3 dimensions, found 2");
  EXPECT_EQ(misfit(DType::float32, {0, 3, 8}), "RT203 argument 'x': expected extent at least 1 in dimension 0, found 0");
  EXPECT_EQ(misfit(DType::float32, {1, 4, 8}), "RT203 argument 'x': expected extent 3 in dimension 1, found 4");
  EXPECT_EQ(misfit(DType::float32, {1, 3, 9}), "RT203 argument 'x': expected extent 0 to 8 in dimension 2, found 9");
  EXPECT_EQ(misfit(DType::float32, {1, 3, -1}), "RT203 argument 'x': expected extent 0 to 8 in dimension 2, found -1");
}

TEST(Arguments, AreWrittenBackTogether) {
  float a[] = {1, 2}, b[] = {3, 4};
  const auto first = PendingWrite::make(MutableTensorView(a, {2}), tensor({5, 6}, {2}), "a");
  const auto second = PendingWrite::make(MutableTensorView(b, {2}), tensor({7, 8}, {2}), "b");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(a[0], 1);
  first->store();
  second->store();
  EXPECT_EQ(a[1], 6);
  EXPECT_EQ(b[0], 7);
}

TEST(Arguments, KeepTheirShapeAndDtype) {
  double a[] = {1, 2};
  const auto write = PendingWrite::make(MutableTensorView(a, {2}), tensor({5}, {1}), "a");
  ASSERT_FALSE(write);
  EXPECT_EQ(write.error().code(), "RT205");
  EXPECT_EQ(write.error().message(), "argument 'a' would change from float64[2] to float32[1]");
}

TEST(Items, AreReadFromTensorsOfOneElement) {
  EXPECT_EQ(*ops::item<double>(tensor({2.5}, {1, 1})), 2.5);
  const auto many = ops::item<double>(tensor({1, 2}, {2}));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().describe(), "RuntimeError: a Tensor with 2 elements cannot be converted to Scalar");
}

TEST(Full, FillsEveryDtype) {
  EXPECT_EQ(*ops::full(device(), int64_t{3}, DType::int16, {2})->to_vector<int16_t>(), (std::vector<int16_t>{3, 3}));
  EXPECT_EQ(*ops::item<bool>(*ops::full(device(), true, DType::boolean, {})), true);
  EXPECT_EQ(ops::full(device(), int64_t{300}, DType::uint8, {}).error().describe(),
            "RuntimeError: value cannot be converted to type uint8 without overflow");
}

}  // namespace
}  // namespace toolchain
