//===- Container.cpp - The file around an artefact's payload ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/Container.h"
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
    return "truncated artefact: expected a header of " +
           std::to_string(kHeaderSize) + " bytes, found " +
           std::to_string(size);

  // The version comes first: a newer format may mean anything by the rest.
  auto version = load<uint32_t>(data + 8);
  if (version > kFormatVersion)
    return "artefact has format version " + std::to_string(version) +
           ", this library reads up to version " +
           std::to_string(kFormatVersion) +
           "; use a newer ringlet runtime or compile again with this one";
  if (version == 0 || (version & (version - 1)) != 0)
    return "corrupt artefact: expected a power of two as format version, "
           "found " +
           std::to_string(version);
  auto flags = load<uint32_t>(data + 12);
  if (flags != 0)
    return "corrupt artefact: expected flags 0 in format version " +
           std::to_string(version) + ", found " + std::to_string(flags);

  auto length = load<uint64_t>(data + 16);
  uint64_t found = size - kHeaderSize;
  if (length > kMaxPayload)
    return "corrupt artefact: expected a payload of at most " +
           std::to_string(kMaxPayload) + " bytes, the header says " +
           std::to_string(length);
  if (found < length)
    return "truncated artefact: expected " + std::to_string(length) +
           " bytes of payload, found " + std::to_string(found);
  if (found > length)
    return "corrupt artefact: " + std::to_string(found - length) +
           " bytes follow the payload of " + std::to_string(length) + " bytes";

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
    error = "cannot read '" + path + "': expected at most " +
            std::to_string(kMaxPayload + kHeaderSize) + " bytes, found " +
            std::to_string(info.st_size);
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

static std::string writeAll(int fd, const uint8_t *data, size_t size,
                            const std::string &path) {
  while (size) {
    ssize_t put = ::write(fd, data, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return failure("write", path);
    data += put;
    size -= size_t(put);
  }
  return {};
}

// A device or a pipe cannot be replaced, only written to.
static std::string writeThrough(const std::string &path, const uint8_t *data,
                                size_t size) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return failure("open", path);
  std::string error = writeAll(fd, data, size, path);
  if (::close(fd) != 0 && error.empty())
    error = failure("write", path);
  return error;
}

std::string ringlet::abi::writeFile(const std::string &path, const void *bytes,
                                    size_t size) {
  const auto *data = static_cast<const uint8_t *>(bytes);
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (!S_ISDIR(info.st_mode))
      return writeThrough(path, data, size);
    errno = EISDIR;
    return failure("write", path);
  }

  // In the same folder, so that the rename stays within one file system; a
  // name of our own rather than mkostemp's, for the mode that umask allows.
  std::string temporary;
  int fd = -1;
  for (unsigned attempt = 0; fd < 0; ++attempt) {
    temporary = path + ".tmp" + std::to_string(::getpid()) + "-" +
                std::to_string(attempt);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                0666);
    if (fd < 0 && (errno != EEXIST || attempt == 1000))
      return failure("create a file next to", path);
  }
  std::string error = writeAll(fd, data, size, path);
  // A full disk may show only now, and the rename must not overtake the data.
  if (error.empty() && ::fsync(fd) != 0)
    error = failure("write", path);
  if (::close(fd) != 0 && error.empty())
    error = failure("write", path);
  if (error.empty() && ::rename(temporary.c_str(), path.c_str()) != 0)
    error = failure("replace", path);
  if (!error.empty())
    ::unlink(temporary.c_str());
  return error;
}
