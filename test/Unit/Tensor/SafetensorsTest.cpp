//===- SafetensorsTest.cpp - Good, broken and hostile files -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/Safetensors.h"
#include "test/Unit/Tensor/TemporaryFolder.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace ringlet;

namespace {

std::string fileOf(const std::string &header, size_t dataBytes) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(dataBytes, '\7');
}

/// Reads `bytes` as a file; returns the error, which is empty on success.
std::string errorOf(const TemporaryFolder &folder, const std::string &bytes) {
  std::string path = folder.file("case.safetensors");
  writeAll(path, bytes);
  std::string error;
  bool ok = readSafetensors(path, &error).has_value();
  EXPECT_EQ(ok, error.empty()) << error;
  if (!ok) {
    EXPECT_EQ(error.rfind(path + ": ", 0), 0u) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  return error;
}

Safetensors sample() {
  Safetensors contents;
  contents.metadata = {{"format", "pt"}, {"text", "gr\xc3\xbc\xc3\x9f"}};
  for (int i = 0; i < kNumDTypes; ++i) {
    auto dtype = static_cast<DType>(i);
    Tensor tensor(dtype, {2, 3});
    for (int64_t byte = 0; byte < tensor.bytes(); ++byte)
      tensor.as<uint8_t>()[byte] = static_cast<uint8_t>(byte * 37 + i);
    contents.tensors.push_back({std::string(nameOf(dtype)), std::move(tensor)});
  }
  contents.tensors.push_back({"empty", Tensor(DType::f32, {0, 5})});
  contents.tensors.push_back({"scalar \"x\"", Tensor(DType::f32, {})});
  return contents;
}

TEST(Safetensors, RoundTripIsByteExact) {
  TemporaryFolder folder;
  std::string error;
  Safetensors contents = sample();
  std::string path = folder.file("a.safetensors");
  ASSERT_TRUE(writeSafetensors(path, contents, &error)) << error;
  std::optional<Safetensors> read = readSafetensors(path, &error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(read->metadata, contents.metadata);
  ASSERT_EQ(read->tensors.size(), contents.tensors.size());
  for (const NamedTensor &named : contents.tensors) {
    const Tensor *tensor = read->find(named.name);
    ASSERT_TRUE(tensor) << named.name;
    EXPECT_EQ(tensor->dtype(), named.tensor.dtype());
    EXPECT_EQ(tensor->shape(), named.tensor.shape());
    EXPECT_EQ(std::memcmp(tensor->data(), named.tensor.data(),
                          static_cast<size_t>(tensor->bytes())),
              0);
  }
  EXPECT_EQ(read->find("absent"), nullptr);

  std::string again = folder.file("b.safetensors");
  ASSERT_TRUE(writeSafetensors(again, *read, &error)) << error;
  EXPECT_EQ(readAll(path), readAll(again));
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(Safetensors, DataIsAlignedInTheFile) {
  TemporaryFolder folder;
  std::string path = folder.file("a.safetensors");
  Safetensors contents;
  contents.tensors.push_back({"mask", Tensor(DType::i1, {3})});
  contents.tensors.push_back({"wide", Tensor(DType::f64, {1})});
  ASSERT_TRUE(writeSafetensors(path, contents, nullptr));
  std::string bytes = readAll(path);
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]) % 8, 0);
  EXPECT_NE(bytes.find("\"wide\":{\"dtype\":\"F64\",\"shape\":[1],"
                       "\"data_offsets\":[0,8]}"),
            std::string::npos);
}

TEST(Safetensors, ReadsWhatOtherWritersPrint) {
  TemporaryFolder folder;
  EXPECT_EQ(errorOf(folder, fileOf("{}", 0)), "");
  EXPECT_EQ(errorOf(folder, fileOf("{ \"a\" :\n{\"shape\": [1, 2],"
                                   "\"data_offsets\":[0,4],"
                                   "\"dtype\":\"BF16\"} }   ",
                                   4)),
            "");
  EXPECT_EQ(errorOf(folder, fileOf("{\"b\":{\"dtype\":\"I32\",\"shape\":[1],"
                                   "\"data_offsets\":[1,5]},"
                                   "\"a\":{\"dtype\":\"BOOL\",\"shape\":[],"
                                   "\"data_offsets\":[0,1]}}",
                                   5)),
            "");
}

/// A small whole file, cut after each of its bytes: never accepted.
TEST(Safetensors, TruncatedAtEveryByteIsRefused) {
  TemporaryFolder folder;
  std::string path = folder.file("whole");
  ASSERT_TRUE(writeSafetensors(path, sample(), nullptr));
  std::string whole = readAll(path);
  for (size_t length = 0; length < whole.size(); ++length)
    ASSERT_NE(errorOf(folder, whole.substr(0, length)), "") << length;
  EXPECT_EQ(errorOf(folder, whole), "");
  EXPECT_NE(errorOf(folder, whole + "x"), "");
}

/// One bit of the length or header flipped: refused, or read as a file whose
/// tensors still tile the data. Nothing crashes, which the sanitisers and the
/// bounds inside the reader decide.
TEST(Safetensors, EveryFlippedHeaderBitIsHandled) {
  TemporaryFolder folder;
  std::string path = folder.file("whole");
  Safetensors contents;
  contents.tensors.push_back({"q", Tensor(DType::f16, {2, 3})});
  contents.tensors.push_back({"mask", Tensor(DType::i1, {4})});
  ASSERT_TRUE(writeSafetensors(path, contents, nullptr));
  std::string whole = readAll(path);
  size_t header = static_cast<unsigned char>(whole[0]);
  int refused = 0;
  for (size_t byte = 0; byte < 8 + header; ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << bit));
      std::string file = folder.file("flipped");
      writeAll(file, flipped);
      std::string error;
      std::optional<Safetensors> read = readSafetensors(file, &error);
      refused += !read;
      // One of another type has no tensor.
      if (!read || !read->others.empty())
        continue;
      int64_t bytes = 0;
      for (const NamedTensor &named : read->tensors)
        bytes += named.tensor.bytes();
      ASSERT_EQ(bytes, 16) << "byte " << byte << " bit " << bit;
    }
  // Flips inside a name, a space and a few types are harmless; nothing else.
  EXPECT_GT(refused, static_cast<int>(8 * header / 2));
  for (size_t byte = 0; byte < 8; ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << bit));
      EXPECT_NE(errorOf(folder, flipped), "") << byte << " " << bit;
    }
}

TEST(Safetensors, HugeLengthsAreRefusedAtOnce) {
  TemporaryFolder folder;
  for (uint64_t length :
       {uint64_t{1} << 32, uint64_t{1} << 62, ~uint64_t{0}, uint64_t{3}}) {
    std::string bytes(10, '{');
    std::memcpy(bytes.data(), &length, 8);
    std::string error = errorOf(folder, bytes);
    EXPECT_NE(error.find("header length of at most 2 bytes"), std::string::npos)
        << error;
    EXPECT_NE(error.find(std::to_string(length)), std::string::npos) << error;
  }
}

std::string tensor(const std::string &name, const std::string &dtype,
                   const std::string &shape, const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(Safetensors, TensorsOfOtherTypesAreLeft) {
  TemporaryFolder folder;
  std::string path = folder.file("case.safetensors");
  writeAll(path, fileOf("{" + tensor("a", "F8_E5M2", "[4]", "[0,4]") + "," +
                            tensor("b", "F16", "[2]", "[4,8]") + "," +
                            tensor("c", "f16", "[9]", "[8,9]") + "}",
                        9));
  std::string error;
  std::optional<Safetensors> read = readSafetensors(path, &error);
  ASSERT_TRUE(read) << error;
  ASSERT_EQ(read->tensors.size(), 1u);
  EXPECT_EQ(read->tensors[0].name, "b");
  std::map<std::string, std::string> others = {{"a", "F8_E5M2"}, {"c", "f16"}};
  EXPECT_EQ(read->others, others);
}

TEST(Safetensors, HostileHeadersAreRefusedWithAReason) {
  TemporaryFolder folder;
  auto refuse = [&](const std::string &header, size_t dataBytes,
                    const std::string &message) {
    std::string error = errorOf(folder, fileOf(header, dataBytes));
    EXPECT_NE(error.find(message), std::string::npos)
        << "header: " << header.substr(0, 200) << "\nerror: " << error;
  };
  auto one = [](const std::string &dtype, const std::string &shape,
                const std::string &offsets) {
    return "{" + tensor("a", dtype, shape, offsets) + "}";
  };

  refuse("", 0, "begins with '{', found an empty one");
  refuse(" {}", 0, "begins with '{', found ' '");
  refuse("[]", 0, "begins with '{', found '['");
  refuse("{", 0, "syntax error");
  refuse("{}x", 0, "syntax error at its byte 3");
  refuse("{\"a\xff\":{}}", 0, "syntax error");
  refuse("{\"a\":1}", 0, "an object as tensor 'a', found the number 1");
  refuse("{\"a\":[]}", 0, "an object as tensor 'a', found an array");
  refuse("{\"a\":null}", 0, "found null");
  refuse("{\"__metadata__\":{\"k\":1}}", 0,
         "a string as metadata 'k', found the number 1");
  refuse("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "'k' twice");
  refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0,
         "'__metadata__' twice");

  refuse(one("U8", "[4]", "[0,8]"), 4, "within the 4 bytes of data");
  refuse(one("U8", "[4]", "[2,0]"), 4, "type 'U8', found data_offsets [2, 0)");
  refuse(one("F16", "2", "[0,4]"), 4, "an array of numbers in 'shape'");
  refuse(one("F16", "[2.0]", "[0,4]"), 4, "found the number '2.0'");
  refuse(one("F16", "[-2]", "[0,4]"), 4, "found the number -2");
  refuse(one("F16", "[[2]]", "[0,4]"), 4, "found an array");
  refuse(one("F16", "[\"2\"]", "[0,4]"), 4, "found the string '2'");
  refuse(one("F16", "[true]", "[0,4]"), 4, "found true");
  refuse(one("F16", "[2]", "[4]"), 4, "2 data_offsets");
  refuse(one("F16", "[2]", "[0,2,4]"), 4, "2 data_offsets");
  refuse(one("F16", "[18446744073709551615]", "[0,4]"), 4, "below 2^63");
  refuse(one("F16", "[99999999999999999999999]", "[0,4]"), 4,
         "an integer of at least 0");
  // 2^32 * 2^32 elements wrap to 0 in 64 bits.
  refuse(one("F16", "[4294967296,4294967296]", "[0,0]"), 0, "below 2^63 bytes");
  // 2^62 elements of 4 bytes wrap to 0, too.
  refuse(one("F32", "[4611686018427387904]", "[0,0]"), 0, "below 2^63 bytes");
  refuse(one("F32", "[0,4611686018427387904,2]", "[0,0]"), 0,
         "below 2^63 bytes");
  refuse(one("F16", "[2]", "[0,5]"), 5, "expected 4 bytes for tensor 'a'");
  refuse(one("F16", "[2]", "[4,0]"), 4, "found data_offsets [4, 0)");
  refuse(one("F16", "[2]", "[0,4]"), 3, "within the 3 bytes of data");
  refuse(one("F16", "[2]", "[0,4]"), 5, "expected 4 bytes of data");
  refuse(one("F16", "[2]", "[2,6]"), 6, "begin at byte 0");
  refuse("{" + tensor("a", "F16", "[2]", "[0,4]") + "," +
             tensor("b", "F16", "[2]", "[2,6]") + "}",
         6, "(overlap)");
  refuse("{" + tensor("a", "F16", "[2]", "[0,4]") + "," +
             tensor("b", "F16", "[2]", "[0,4]") + "}",
         4, "(overlap)");
  refuse("{" + tensor("a", "F16", "[2]", "[0,4]") + "," +
             tensor("b", "F16", "[2]", "[5,9]") + "}",
         9, "(gap)");
  refuse("{" + tensor("a", "F16", "[2]", "[0,4]") + "," +
             tensor("a", "F16", "[2]", "[4,8]") + "}",
         8, "'a' twice");
  refuse("{\"a\":{\"dtype\":\"F16\",\"dtype\":\"F16\"}}", 0,
         "dtype once in tensor 'a'");
  refuse("{\"a\":{\"dtype\":\"F16\",\"shape\":[]}}", 0, "no data_offsets");
  refuse("{\"a\":{}}", 0, "no dtype");
  refuse("{\"a\":{\"stride\":[1]}}", 0, "found 'stride'");
  // Control characters of a name do not reach the message.
  refuse("{\"\\u0000\\n\":1}", 0, "tensor '\\x00\\x0a'");

  std::string deep = "{\"a\":{\"shape\":" + std::string(1000000, '[');
  refuse(deep, 0, "an integer of at least 0");
  std::string objects = "{\"a\":";
  for (int i = 0; i < 100000; ++i)
    objects += "{\"dtype\":";
  refuse(objects, 0, "a string in 'dtype'");
  std::string ranks = "[1";
  for (int i = 0; i < 100000; ++i)
    ranks += ",1";
  refuse(one("F16", ranks + "]", "[0,2]"), 2, "at most 32 numbers");
}

TEST(Safetensors, FilesThatAreNoFilesAreRefused) {
  TemporaryFolder folder;
  std::string error;
  EXPECT_FALSE(readSafetensors(folder.file("absent"), &error));
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
  EXPECT_FALSE(readSafetensors(folder.path, &error));
  EXPECT_NE(error.find("regular file"), std::string::npos) << error;
  // Opening a pipe without a writer would wait for ever.
  std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(readSafetensors(pipe, &error));
  EXPECT_NE(error.find("regular file"), std::string::npos) << error;
  EXPECT_FALSE(readSafetensors(folder.file("absent"), nullptr));
}

TEST(Safetensors, WriterRefusesNamesThatCannotBeRead) {
  TemporaryFolder folder;
  std::string path = folder.file("a");
  std::string error;
  Safetensors twice;
  twice.tensors.push_back({"a", Tensor(DType::f32, {1})});
  twice.tensors.push_back({"a", Tensor(DType::f32, {1})});
  EXPECT_FALSE(writeSafetensors(path, twice, &error));
  EXPECT_NE(error.find("'a' twice"), std::string::npos) << error;
  Safetensors reserved;
  reserved.tensors.push_back({"__metadata__", Tensor(DType::f32, {1})});
  EXPECT_FALSE(writeSafetensors(path, reserved, &error));
  Safetensors binary;
  binary.tensors.push_back({"\xff", Tensor(DType::f32, {1})});
  EXPECT_FALSE(writeSafetensors(path, binary, &error));
  EXPECT_NE(error.find("UTF-8"), std::string::npos) << error;
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
