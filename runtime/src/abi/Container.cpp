//===- Container.cpp - The file around an artefact's payload ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/Container.h"

#include "ringlet/abi/Format.h"
#include "ringlet/abi/Limits.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ringlet::abi;

static const char magic[8] = {'R', 'I', 'N', 'G', 'L', 'E', 'T', '\0'};

// Byte by byte, so that the file is the same on every host.
template <typename T>
static void store(uint8_t *p, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    p[i] = uint8_t(value >> (8 * i));
}

template <typename T>
static T load(const uint8_t *p) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= T(p[i]) << (8 * i);
  return value;
}

static std::string hex(const uint8_t *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

std::string ringlet::abi::openContainer(const void *bytes, size_t size,
                                        Payload &payload) {
  const auto *data = static_cast<const uint8_t *>(bytes);
  if (size < sizeof(magic) || std::memcmp(data, magic, sizeof(magic)) != 0)
    return "not a ringlet artefact: expected the magic bytes " +
           hex(reinterpret_cast<const uint8_t *>(magic), sizeof(magic)) +
           ", found " +
           (size ? hex(data, size < sizeof(magic) ? size : sizeof(magic))
                 : std::string("an empty file"));
  if (size < kHeaderSize)
    return formatText(
        "truncated artefact: expected a header of {} bytes, found {}",
        kHeaderSize, size);

  // The version comes first: a newer format may mean anything by the rest.
  auto version = load<uint32_t>(data + 8);
  if (version > kFormatVersion)
    return formatText(
        "artefact has format version {}, this library reads up to version {}; "
        "use a newer ringlet runtime or compile again with this one",
        version, kFormatVersion);
  if (version == 0 || (version & (version - 1)) != 0)
    return formatText(
        "corrupt artefact: expected a power of two as format version, found {}",
        version);
  auto flags = load<uint32_t>(data + 12);
  if (flags != 0)
    return formatText(
        "corrupt artefact: expected flags 0 in format version {}, found {}",
        version, flags);

  auto length = load<uint64_t>(data + 16);
  uint64_t found = size - kHeaderSize;
  if (length > kMaxPayload)
    return formatText("corrupt artefact: expected a payload of at most {} "
                      "bytes, the header says {}",
                      kMaxPayload, length);
  if (found < length)
    return formatText(
        "truncated artefact: expected {} bytes of payload, found {}", length,
        found);
  if (found > length)
    return formatText(
        "corrupt artefact: {} bytes follow the payload of {} bytes",
        found - length, length);

  Sha256Digest digest = sha256(data + kHeaderSize, size_t(length));
  if (std::memcmp(digest.data(), data + 24, digest.size()) != 0)
    return "corrupt artefact: expected sha-256 " + hex(data + 24, 32) +
           ", the payload has " + hex(digest.data(), 32);

  payload.data = data + kHeaderSize;
  payload.size = size_t(length);
  payload.version = version;
  return {};
}

std::vector<uint8_t> ringlet::abi::makeContainer(const void *payload,
                                                 size_t size,
                                                 uint32_t version) {
  std::vector<uint8_t> file(kHeaderSize + size);
  std::memcpy(file.data(), magic, sizeof(magic));
  store<uint32_t>(file.data() + 8, version);
  store<uint32_t>(file.data() + 12, 0);
  store<uint64_t>(file.data() + 16, size);
  Sha256Digest digest = sha256(payload, size);
  std::memcpy(file.data() + 24, digest.data(), digest.size());
  if (size)
    std::memcpy(file.data() + kHeaderSize, payload, size);
  return file;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string failure(const std::string &what, const std::string &path) {
  return "cannot " + what + " '" + path + "': " + std::strerror(errno);
}

std::string ringlet::abi::readFile(const std::string &path,
                                   std::vector<uint8_t> &bytes) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return failure("open", path);
  std::string error;
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    error = failure("read", path);
  } else if (!S_ISREG(info.st_mode)) {
    error = "cannot read '" + path + "': not a regular file";
  } else if (uint64_t(info.st_size) > kMaxPayload + kHeaderSize) {
    error = formatText("cannot read '{}': expected at most {} bytes, found {}",
                       path, kMaxPayload + kHeaderSize, info.st_size);
  } else {
    std::vector<uint8_t> content(size_t(info.st_size));
    size_t at = 0;
    while (at < content.size()) {
      ssize_t got = ::read(fd, content.data() + at, content.size() - at);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        error = failure("read", path);
      if (got <= 0)
        break;
      at += size_t(got);
    }
    content.resize(at); // The file may have shrunk; the header will tell.
    if (error.empty())
      bytes = std::move(content);
  }
  ::close(fd);
  return error;
}
