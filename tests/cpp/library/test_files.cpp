#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "toolchain/files.h"
#include "toolchain/npy.h"
#include "toolchain/sha256.h"

namespace toolchain {
namespace {

std::string hash(const std::string& text) { return sha256(text.data(), text.size()); }

TEST(Sha256, HasThePublishedValues) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PadsAtEveryLengthAroundABlock) {
  EXPECT_EQ(hash(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hash(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(hash(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

class Files : public testing::Test {
 protected:
  Files() : folder_(testing::TempDir() + "toolchain_files_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_ + "/in");
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << content;
  }

  std::string code(const FileInfo& info, bool verify = true) {
    const auto file = open_checked(folder_, info, verify);
    return file ? "" : file.error().code();
  }

  std::string folder_;
};

constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST_F(Files, AreMappedIfTheyAreAsDescribed) {
  write("in/file", "abc");
  const auto file = open_checked(folder_, {"in/file", 3, kAbc}, true);
  ASSERT_TRUE(file);
  EXPECT_EQ(std::string((*file)->data(), (*file)->data() + (*file)->size()), "abc");
}

TEST_F(Files, MustBeUnchanged) {
  EXPECT_EQ(code({"in/file", 3, kAbc}), "RT104");
  write("in/file", "abd");
  EXPECT_EQ(code({"in/file", 3, kAbc}), "RT104");
  EXPECT_EQ(code({"in/file", 3, kAbc}, false), "");
  write("in/file", "abcd");
  EXPECT_EQ(code({"in/file", 3, kAbc}, false), "RT104");
  EXPECT_EQ(code({"in", 3, kAbc}), "RT104");
}

TEST_F(Files, MayBeEmpty) {
  write("empty", "");
  EXPECT_EQ(code({"empty", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}), "");
}

TEST_F(Files, MustNotLeadOut) {
  std::filesystem::create_directory(folder_ + "/bundle");
  write("outside", "abc");
  std::filesystem::create_symlink("../outside", folder_ + "/bundle/link");
  const auto file = open_checked(folder_ + "/bundle", {"link", 3, kAbc}, true);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), "RT105");
}

// A file of NumPy with a header of 118 bytes, as it writes them.
std::string npy(const std::string& fields, const std::string& content) {
  std::string header = fields;
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + content;
}

TEST_F(Files, OfNumPyAreRead) {
  const float values[] = {1, 2.5, -3, 4, 5, 6};
  write("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                     std::string(reinterpret_cast<const char*>(values), sizeof values)));
  const auto tensor = load_npy(folder_ + "/a.npy");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->dtype, DType::float32);
  EXPECT_EQ(tensor->dims, (Dims{2, 3}));
  EXPECT_EQ(std::memcmp(tensor->view().data(), values, sizeof values), 0);
}

TEST_F(Files, OfNumPyMayHoldAScalarOrAVector) {
  write("scalar.npy", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\x01"));
  write("vector.npy", npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", "\x80?\x80?"));
  EXPECT_EQ(load_npy(folder_ + "/scalar.npy")->dims, Dims{});
  EXPECT_EQ(load_npy(folder_ + "/vector.npy")->dtype, DType::bfloat16);
}

TEST_F(Files, OfNumPyThatDoNotFitAreRefused) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  const std::string broken[] = {
      "",
      "short",
      npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678"),
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234"),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234"),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1", "1234"),
      npy("{'fortran_order': False}", "1234"),
      npy(good, "123"),
      npy(good, "12345"),
      npy(good, "1234").substr(0, 40),
  };
  for (const std::string& content : broken) {
    write("broken.npy", content);
    const auto tensor = load_npy(folder_ + "/broken.npy");
    ASSERT_FALSE(tensor) << content;
    EXPECT_EQ(tensor.error().code(), "RT206");
  }
  EXPECT_EQ(load_npy(folder_ + "/none.npy").error().code(), "RT206");
}

}  // namespace
}  // namespace toolchain
