//===- Tensor.h - Host tensors and strided views ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `Tensor` owns contiguous memory; `TensorView` reads and `MutableTensorView`
// also writes memory that somebody else owns, through element strides of any
// sign. Elements travel as double, which holds every element type but i64
// exactly; use `getInt` for that one.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_TENSOR_H
#define RINGLET_LIB_TENSOR_TENSOR_H

#include "lib/Tensor/DType.h"

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ringlet {

using Shape = std::vector<int64_t>;

/// "[1, 128, 4, 32]".
std::string toString(const Shape &shape);

/// Number of elements; nothing when an extent is negative or the product
/// exceeds 63 bits.
std::optional<int64_t> numElements(const Shape &shape);

/// Bytes of `shape` at `dtype`; nothing when that exceeds 63 bits.
std::optional<int64_t> numBytes(const Shape &shape, DType dtype);

/// Element strides of a contiguous tensor, last axis fastest.
Shape contiguousStrides(const Shape &shape);

/// Reads one element, at `index` elements from `data`.
double loadElement(const void *data, DType dtype, int64_t index);
/// As `loadElement`, exact for integer types; floats are cut to an integer.
int64_t loadInt(const void *data, DType dtype, int64_t index);
/// Writes one element, rounded as `roundTo` does.
void storeElement(void *data, DType dtype, int64_t index, double value);

/// A strided, read-only window on memory that the caller keeps alive.
class TensorView {
public:
  TensorView() = default;
  TensorView(const void *data, DType dtype, Shape sizes, Shape strides)
      : base(data), type(dtype), extents(std::move(sizes)),
        steps(std::move(strides)) {}
  /// Contiguous.
  TensorView(const void *data, DType dtype, Shape sizes)
      : base(data), type(dtype), extents(std::move(sizes)),
        steps(contiguousStrides(extents)) {}

  const void *data() const { return base; }
  DType dtype() const { return type; }
  int rank() const { return static_cast<int>(extents.size()); }
  const Shape &sizes() const { return extents; }
  int64_t size(int axis) const { return extents[axis]; }
  /// In elements.
  const Shape &strides() const { return steps; }
  int64_t stride(int axis) const { return steps[axis]; }
  /// Product of the sizes; they must have been checked by `numElements`.
  int64_t elements() const;

  /// Offset from the base, in elements; one index per axis, in range.
  int64_t offsetOf(const int64_t *indices) const {
    int64_t offset = 0;
    for (size_t axis = 0; axis < steps.size(); ++axis)
      offset += indices[axis] * steps[axis];
    return offset;
  }
  double get(const int64_t *indices) const {
    return loadElement(base, type, offsetOf(indices));
  }
  double get(std::initializer_list<int64_t> indices) const {
    return get(indices.begin());
  }
  int64_t getInt(std::initializer_list<int64_t> indices) const {
    return loadInt(base, type, offsetOf(indices.begin()));
  }

  /// The same memory with the two axes exchanged.
  TensorView transposed(int first, int second) const;
  /// Entries `begin`, `begin + step`, ... (`count` of them) of one axis.
  TensorView slice(int axis, int64_t begin, int64_t count,
                   int64_t step = 1) const;

protected:
  const void *base = nullptr;
  DType type = DType::f32;
  Shape extents;
  Shape steps;
};

/// A view that may write, too. It is only made from mutable memory, so giving
/// the constness up inside is sound.
class MutableTensorView : public TensorView {
public:
  MutableTensorView() = default;
  MutableTensorView(void *data, DType dtype, Shape sizes, Shape strides)
      : TensorView(data, dtype, std::move(sizes), std::move(strides)) {}
  MutableTensorView(void *data, DType dtype, Shape sizes)
      : TensorView(data, dtype, std::move(sizes)) {}

  void *data() const { return const_cast<void *>(base); }
  void set(const int64_t *indices, double value) const {
    storeElement(data(), type, offsetOf(indices), value);
  }
  void set(std::initializer_list<int64_t> indices, double value) const {
    set(indices.begin(), value);
  }
};

/// Calls `visit(const int64_t *indices)` for every index of `sizes`, last axis
/// fastest. A rank of 0 is visited once.
template <typename Visit>
void forEachIndex(const Shape &sizes, Visit visit) {
  for (int64_t extent : sizes)
    if (extent <= 0)
      return;
  Shape indices(sizes.size() + 1, 0);
  while (true) {
    visit(static_cast<const int64_t *>(indices.data()));
    size_t axis = sizes.size();
    while (axis > 0 && ++indices[axis - 1] == sizes[axis - 1])
      indices[--axis] = 0;
    if (axis == 0)
      return;
  }
}

/// Owning, contiguous, aligned to 64 bytes, zero at the start.
class Tensor {
public:
  Tensor() = default;
  /// `shape` must pass `numBytes`; use `create` for a shape from outside.
  Tensor(DType dtype, Shape shape);
  Tensor(const Tensor &other);
  Tensor(Tensor &&other) = default;
  Tensor &operator=(const Tensor &other);
  Tensor &operator=(Tensor &&other) = default;

  /// Refuses negative extents, overflow and sizes that cannot be allocated.
  static std::optional<Tensor> create(DType dtype, Shape shape,
                                      std::string *error);
  /// A contiguous copy, converted when `dtype` differs.
  static Tensor copyOf(const TensorView &view);
  static Tensor copyOf(const TensorView &view, DType dtype);

  void *data() { return storage.get(); }
  const void *data() const { return storage.get(); }
  template <typename T>
  T *as() {
    return static_cast<T *>(data());
  }
  template <typename T>
  const T *as() const {
    return static_cast<const T *>(data());
  }
  DType dtype() const { return type; }
  const Shape &shape() const { return extents; }
  int rank() const { return static_cast<int>(extents.size()); }
  int64_t elements() const { return count; }
  int64_t bytes() const { return count * sizeOf(type); }

  /// Another shape for the same elements; their number must be the same.
  void reshape(Shape shape);

  TensorView view() const { return TensorView(data(), type, extents); }
  MutableTensorView view() { return MutableTensorView(data(), type, extents); }

  double get(std::initializer_list<int64_t> indices) const {
    return view().get(indices);
  }
  void set(std::initializer_list<int64_t> indices, double value) {
    view().set(indices, value);
  }

private:
  struct Release {
    void operator()(std::byte *memory) const;
  };
  bool allocate();

  std::unique_ptr<std::byte[], Release> storage;
  DType type = DType::f32;
  Shape extents;
  int64_t count = 0;
};

/// Copies every element, converting between element types; the sizes must be
/// equal.
void copyElements(const TensorView &from, const MutableTensorView &to);

/// The entries `indices` of one axis, in that order, as a contiguous copy.
/// Every index must be in range.
Tensor takeIndices(const TensorView &view, int axis,
                   const std::vector<int64_t> &indices);

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_TENSOR_H
