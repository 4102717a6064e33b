//===- Safetensors.cpp - Reading and writing .safetensors -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/Safetensors.h"

#include "lib/Tensor/AtomicFile.h"
#include "lib/Tensor/SafetensorsHeader.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

namespace ringlet {

namespace {

constexpr int64_t kLengthBytes = 8;

uint64_t decodeLength(const unsigned char *bytes) {
  uint64_t value = 0;
  for (int i = kLengthBytes; i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

/// A file open for reading whose size is known; every read is checked.
class InputFile {
public:
  ~InputFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  /// O_NONBLOCK keeps the open of a pipe from waiting for a writer.
  bool open(const std::string &path, std::string *error) {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
      *error = std::string("cannot open: ") + std::strerror(errno);
      return false;
    }
    if (!S_ISREG(status.st_mode)) {
      *error = "expected a regular file, found a folder, device or pipe";
      return false;
    }
    bytes = status.st_size;
    return true;
  }

  int64_t size() const { return bytes; }

  bool read(int64_t offset, void *target, int64_t count, std::string *error) {
    auto *next = static_cast<char *>(target);
    while (count > 0) {
      ssize_t got =
          ::pread(descriptor, next, static_cast<size_t>(count), offset);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0) {
        *error = std::string("cannot read: ") + std::strerror(errno);
        return false;
      }
      if (got == 0) {
        *error = formatText(
            "expected {} more bytes at byte {}, found the end of the file",
            count, offset);
        return false;
      }
      next += got;
      offset += got;
      count -= got;
    }
    return true;
  }

private:
  int descriptor = -1;
  int64_t bytes = 0;
};

std::optional<Safetensors> readChecked(const std::string &path,
                                       std::string *error) {
  InputFile file;
  if (!file.open(path, error))
    return std::nullopt;
  if (file.size() < kLengthBytes) {
    *error = formatText(
        "expected at least 8 bytes of header length, found a file of {} bytes",
        file.size());
    return std::nullopt;
  }
  unsigned char prefix[kLengthBytes];
  if (!file.read(0, prefix, kLengthBytes, error))
    return std::nullopt;
  uint64_t length = decodeLength(prefix);
  int64_t limit = std::min(file.size() - kLengthBytes, kMaxSafetensorsHeader);
  if (length > static_cast<uint64_t>(limit)) {
    *error = formatText("expected a header length of at most {} bytes in a "
                        "file of {} bytes, found {}",
                        limit, file.size(), length);
    return std::nullopt;
  }
  std::string text(length, '\0');
  if (!file.read(kLengthBytes, text.data(), static_cast<int64_t>(length),
                 error))
    return std::nullopt;

  int64_t dataStart = kLengthBytes + static_cast<int64_t>(length);
  std::optional<SafetensorsHeader> header =
      parseSafetensorsHeader(text, file.size() - dataStart, error);
  if (!header)
    return std::nullopt;

  Safetensors result;
  result.metadata = std::move(header->metadata);
  result.tensors.reserve(header->entries.size());
  for (SafetensorsHeader::Entry &entry : header->entries) {
    if (!entry.dtype) {
      result.others.emplace(std::move(entry.name), std::move(entry.type));
      continue;
    }
    std::optional<Tensor> tensor =
        Tensor::create(*entry.dtype, std::move(entry.shape), error);
    if (!tensor || !file.read(dataStart + entry.begin, tensor->data(),
                              tensor->bytes(), error))
      return std::nullopt;
    result.tensors.push_back({std::move(entry.name), std::move(*tensor)});
  }
  return result;
}

} // namespace

const Tensor *Safetensors::find(const std::string &name) const {
  for (const NamedTensor &named : tensors)
    if (named.name == name)
      return &named.tensor;
  return nullptr;
}

std::optional<Safetensors> readSafetensors(const std::string &path,
                                           std::string *error) {
  std::string reason;
  std::optional<Safetensors> result;
  try {
    result = readChecked(path, &reason);
  } catch (const std::bad_alloc &) {
    reason = "not enough memory to read it";
    result.reset();
  }
  if (!result && error)
    *error = path + ": " + reason;
  return result;
}

bool writeSafetensors(const std::string &path, const Safetensors &contents,
                      std::string *error) {
  std::vector<const NamedTensor *> sorted;
  for (const NamedTensor &named : contents.tensors)
    sorted.push_back(&named);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const NamedTensor *left, const NamedTensor *right) {
                     return sizeOf(left->tensor.dtype()) >
                            sizeOf(right->tensor.dtype());
                   });

  SafetensorsHeader header;
  header.metadata = contents.metadata;
  std::vector<FileChunk> chunks(2);
  int64_t offset = 0;
  for (const NamedTensor *named : sorted) {
    const Tensor &tensor = named->tensor;
    int64_t end = offset + tensor.bytes();
    header.entries.push_back(
        {named->name, tensor.dtype(), tensor.shape(), offset, end, ""});
    chunks.push_back({tensor.data(), static_cast<size_t>(tensor.bytes())});
    offset = end;
  }
  std::string reason;
  std::optional<std::string> text = printSafetensorsHeader(header, &reason);
  if (!text) {
    if (error)
      *error = path + ": " + reason;
    return false;
  }
  unsigned char prefix[kLengthBytes];
  for (int i = 0; i < kLengthBytes; ++i)
    prefix[i] = static_cast<unsigned char>(text->size() >> (8 * i));
  chunks[0] = {prefix, sizeof prefix};
  chunks[1] = {text->data(), text->size()};
  std::string failure = writeFileAtomically(path, chunks);
  if (error && !failure.empty())
    *error = failure;
  return failure.empty();
}

} // namespace ringlet
