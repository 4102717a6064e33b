//===- ContainerTest.cpp - The header of artefact files ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "ringlet/abi/Container.h"

#include <cstring>
#include <gtest/gtest.h>

namespace ringlet::test {

static std::string hexDigest(const std::string &text) {
  std::string out;
  char two[3];
  for (uint8_t byte : abi::sha256(text.data(), text.size())) {
    std::snprintf(two, sizeof(two), "%02x", byte);
    out += two;
  }
  return out;
}

static std::string open(const std::vector<uint8_t> &file) {
  abi::Payload payload;
  return abi::openContainer(file.data(), file.size(), payload);
}

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// The first two are the examples of FIPS 180-4; the lengths around 56 and 64
// are where the padding changes its number of blocks.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(hexDigest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9c"
                              "b410ff61f20015ad");
  EXPECT_EQ(
      hexDigest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexDigest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca49"
                           "5991b7852b855");
  EXPECT_EQ(hexDigest(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hexDigest(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hexDigest(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(hexDigest(std::string(63, 'a')),
            "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(hexDigest(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Container, RoundTrip) {
  std::vector<uint8_t> content = {1, 2, 3, 4, 5};
  std::vector<uint8_t> file = abi::makeContainer(content.data(), 5);
  abi::Payload payload;
  ASSERT_EQ(abi::openContainer(file.data(), file.size(), payload), "");
  EXPECT_EQ(payload.version, abi::kFormatVersion);
  EXPECT_EQ(std::vector<uint8_t>(payload.data, payload.data + payload.size),
            content);
}

TEST(Container, RefusesEveryTruncation) {
  std::vector<uint8_t> content(100, 7);
  std::vector<uint8_t> file = abi::makeContainer(content.data(), 100);
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(open({file.begin(), file.begin() + long(size)}), "") << size;
  EXPECT_TRUE(contains(open({file.begin(), file.begin() + 60}),
                       "expected 100 bytes of payload, found 4"));
}

TEST(Container, RefusesEveryFlippedBit) {
  std::vector<uint8_t> content(100, 7);
  std::vector<uint8_t> file = abi::makeContainer(content.data(), 100);
  for (size_t i = 0; i < file.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> flipped = file;
      flipped[i] ^= uint8_t(1 << bit);
      EXPECT_NE(open(flipped), "") << "byte " << i << ", bit " << bit;
    }
}

TEST(Container, RefusesWhatFollows) {
  std::vector<uint8_t> file = abi::makeContainer("abc", 3);
  file.push_back(0);
  EXPECT_TRUE(contains(open(file), "1 bytes follow the payload of 3 bytes"));
}

TEST(Container, RefusesNewerNamesBoth) {
  std::string error =
      open(abi::makeContainer("abc", 3, abi::kFormatVersion + 5));
  EXPECT_TRUE(contains(error, "format version 21")) << error;
  EXPECT_TRUE(contains(error, "up to version 16")) << error;
}

TEST(Container, RefusesOtherFiles) {
  std::string text = "#!/bin/sh\necho this is no artefact, however long it is";
  EXPECT_TRUE(contains(open({text.begin(), text.end()}), "not a ringlet"));
  EXPECT_TRUE(contains(open({}), "found an empty file"));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST(Files, ReadRefusesWhatIsNoFile) {
  std::vector<uint8_t> bytes = {42};
  EXPECT_TRUE(contains(abi::readFile("/tmp/none/file", bytes), "cannot open"));
  EXPECT_TRUE(contains(abi::readFile("/tmp", bytes), "not a regular file"));
  EXPECT_EQ(bytes, std::vector<uint8_t>{42});
}

} // namespace ringlet::test
