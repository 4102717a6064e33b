//===- AtomicFile.cpp - Files that are whole or absent ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/AtomicFile.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace ringlet {

namespace {

std::string failure(const std::string &what, const std::string &path) {
  return "cannot " + what + " '" + path + "': " + std::strerror(errno);
}

bool writeAll(int descriptor, const std::vector<FileChunk> &chunks) {
  for (const FileChunk &chunk : chunks) {
    const auto *next = static_cast<const char *>(chunk.data);
    size_t left = chunk.size;
    while (left > 0) {
      ssize_t written = ::write(descriptor, next, left);
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return false;
      next += written;
      left -= static_cast<size_t>(written);
    }
  }
  return true;
}

/// The temporary file; removed unless it was renamed.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &target)
      : name(target + ".tmp-XXXXXX") {
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    exists = descriptor >= 0;
  }
  ~TemporaryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (exists)
      ::unlink(name.c_str());
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  bool isOpen() const { return descriptor >= 0; }

  bool write(const std::vector<FileChunk> &chunks) {
    return writeAll(descriptor, chunks);
  }

  /// mkostemp makes files that only the owner may read; give the mode that an
  /// ordinary new file, or the file to be replaced, has. A full disk may show
  /// only now, and the rename must not overtake the data.
  bool finish(const std::string &target, mode_t mode) {
    if (::fchmod(descriptor, mode) != 0 || ::fsync(descriptor) != 0)
      return false;
    int closed = ::close(descriptor);
    descriptor = -1;
    if (closed != 0 || ::rename(name.c_str(), target.c_str()) != 0)
      return false;
    exists = false;
    return true;
  }

private:
  std::string name;
  int descriptor = -1;
  bool exists = false;
};

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : path.substr(0, slash);
}

/// The file itself, where `path` is a link, or a link to one: what is replaced
/// is the file, as if it were written to.
std::string followLinks(std::string path) {
  // As many as the kernel follows.
  for (int links = 0; links < 40; ++links) {
    char target[PATH_MAX];
    ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length < 0 || length == sizeof target)
      break;
    std::string next(target, static_cast<size_t>(length));
    path = next[0] == '/' ? next : folderOf(path) + "/" + next;
  }
  return path;
}

/// The rename itself must reach the disk. Some file systems cannot sync a
/// folder; the data are safe then, so this is no error.
void syncFolderOf(const std::string &path) {
  std::string folder = folderOf(path);
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  ::fsync(descriptor);
  ::close(descriptor);
}

mode_t modeOfNewFile() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

/// A device or a pipe cannot be replaced, only written to.
std::string writeThrough(const std::string &path,
                         const std::vector<FileChunk> &chunks) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failure("open", path);
  std::string error;
  if (!writeAll(descriptor, chunks))
    error = failure("write", path);
  if (::close(descriptor) != 0 && error.empty())
    error = failure("write", path);
  return error;
}

/// The file that is written, behind links, and its mode if it is there; not
/// replaced are devices and pipes.
struct Target {
  std::string file;
  std::optional<mode_t> mode;
  bool isReplaced = true;
};

/// Sets `target`; or returns why `path` cannot be written.
std::string examine(const std::string &path, Target &target) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return "cannot write '" + path.substr(0, path.find('\0')) +
           "': expected the name of a file";
  target.file = followLinks(path);
  struct stat status;
  bool isThere = ::stat(target.file.c_str(), &status) == 0;
  if (isThere && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return failure("write", path);
  }
  if (isThere)
    target.mode = status.st_mode & 07777;
  target.isReplaced = !isThere || S_ISREG(status.st_mode);
  if (target.isReplaced &&
      ::access(folderOf(target.file).c_str(), W_OK | X_OK) != 0)
    return failure("create a file next to", path);
  return "";
}

} // namespace

std::string checkWritable(const std::string &path) {
  Target target;
  return examine(path, target);
}

std::string writeFileAtomically(const std::string &path,
                                const std::vector<FileChunk> &chunks) {
  Target target;
  std::string error = examine(path, target);
  if (!error.empty())
    return error;
  if (!target.isReplaced)
    return writeThrough(target.file, chunks);

  TemporaryFile file(target.file);
  if (!file.isOpen())
    return failure("create a file next to", path);
  if (!file.write(chunks) ||
      !file.finish(target.file, target.mode ? *target.mode : modeOfNewFile()))
    return failure("write", path);
  syncFolderOf(target.file);
  return "";
}

} // namespace ringlet
