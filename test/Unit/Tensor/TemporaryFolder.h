//===- TemporaryFolder.h - A folder for one test ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_TENSOR_TEMPORARYFOLDER_H
#define RINGLET_TEST_UNIT_TENSOR_TEMPORARYFOLDER_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// An empty folder that lives as long as this object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    path = (std::filesystem::temp_directory_path() / "ringlet-XXXXXX").string();
    if (!::mkdtemp(path.data()))
      std::abort();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }

  /// Names of all files, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

  std::string path;
};

inline std::string readAll(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

/// Removes the file first: some file systems flush a file that is cut to zero
/// and written again, and the tests write thousands.
inline void writeAll(const std::string &path, const std::string &bytes) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

#endif // RINGLET_TEST_UNIT_TENSOR_TEMPORARYFOLDER_H
