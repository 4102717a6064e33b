//===- Tensor.cpp - Host tensors and strided views --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/Tensor.h"

#include <cassert>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

namespace ringlet {

namespace {

constexpr int64_t kAlignment = 64;

template <typename T>
T loadAs(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

template <typename T>
void storeAs(void *data, int64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

/// A double past the range of int64_t must not be cast: that is undefined.
int64_t toInt(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

} // namespace

std::string toString(const Shape &shape) {
  std::string text = "[";
  for (size_t axis = 0; axis < shape.size(); ++axis)
    text += (axis ? ", " : "") + std::to_string(shape[axis]);
  return text + "]";
}

std::optional<int64_t> numElements(const Shape &shape) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    empty |= extent == 0;
    // An empty axis makes the product 0, but the other extents must still be
    // sane: strides are made from them.
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product))
      return std::nullopt;
  }
  return empty ? 0 : product;
}

std::optional<int64_t> numBytes(const Shape &shape, DType dtype) {
  std::optional<int64_t> count = numElements(shape);
  int64_t bytes;
  if (!count || __builtin_mul_overflow(*count, sizeOf(dtype), &bytes))
    return std::nullopt;
  return bytes;
}

Shape contiguousStrides(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis] ? shape[axis] : 1;
  }
  return strides;
}

double loadElement(const void *data, DType dtype, int64_t index) {
  switch (dtype) {
  case DType::f16:
    return f16ToFloat(loadAs<uint16_t>(data, index));
  case DType::bf16:
    return bf16ToFloat(loadAs<uint16_t>(data, index));
  case DType::f32:
    return loadAs<float>(data, index);
  case DType::f64:
    return loadAs<double>(data, index);
  case DType::i1:
    return loadAs<uint8_t>(data, index) != 0;
  case DType::i32:
    return loadAs<int32_t>(data, index);
  case DType::i64:
    return static_cast<double>(loadAs<int64_t>(data, index));
  case DType::f8E4M3FN:
    return f8E4M3FNToFloat(loadAs<uint8_t>(data, index));
  case DType::i8:
    return loadAs<int8_t>(data, index);
  }
  return 0;
}

int64_t loadInt(const void *data, DType dtype, int64_t index) {
  if (dtype == DType::i64)
    return loadAs<int64_t>(data, index);
  return toInt(loadElement(data, dtype, index));
}

void storeElement(void *data, DType dtype, int64_t index, double value) {
  switch (dtype) {
  case DType::f16:
    return storeAs(data, index, doubleToF16(value));
  case DType::bf16:
    return storeAs(data, index, doubleToBF16(value));
  case DType::f32:
    return storeAs(data, index, static_cast<float>(value));
  case DType::f64:
    return storeAs(data, index, value);
  case DType::i1:
    return storeAs(data, index, static_cast<uint8_t>(value != 0));
  case DType::i32:
    return storeAs(data, index,
                   static_cast<int32_t>(roundTo(DType::i32, value)));
  case DType::i64:
    return storeAs(data, index, toInt(roundTo(DType::i64, value)));
  case DType::f8E4M3FN:
    return storeAs(data, index, doubleToF8E4M3FN(value));
  case DType::i8:
    return storeAs(data, index, static_cast<int8_t>(roundTo(DType::i8, value)));
  }
}

int64_t TensorView::elements() const {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

TensorView TensorView::transposed(int first, int second) const {
  TensorView result = *this;
  std::swap(result.extents[first], result.extents[second]);
  std::swap(result.steps[first], result.steps[second]);
  return result;
}

TensorView TensorView::slice(int axis, int64_t begin, int64_t count,
                             int64_t step) const {
  TensorView result = *this;
  result.base =
      static_cast<const char *>(base) + begin * steps[axis] * sizeOf(type);
  result.extents[axis] = count;
  result.steps[axis] = steps[axis] * step;
  return result;
}

void Tensor::Release::operator()(std::byte *memory) const { std::free(memory); }

bool Tensor::allocate() {
  std::optional<int64_t> size = numBytes(extents, type);
  if (!size || *size > std::numeric_limits<int64_t>::max() - 2 * kAlignment)
    return false;
  count = *numElements(extents);
  // aligned_alloc wants a multiple of the alignment; never ask for 0 bytes.
  int64_t rounded = (*size / kAlignment + 1) * kAlignment;
  auto *memory = static_cast<std::byte *>(
      std::aligned_alloc(kAlignment, static_cast<size_t>(rounded)));
  if (!memory)
    return false;
  std::memset(memory, 0, static_cast<size_t>(rounded));
  storage.reset(memory);
  return true;
}

Tensor::Tensor(DType dtype, Shape shape)
    : type(dtype), extents(std::move(shape)) {
  if (!allocate())
    throw std::bad_alloc();
}

std::optional<Tensor> Tensor::create(DType dtype, Shape shape,
                                     std::string *error) {
  Tensor result;
  result.type = dtype;
  result.extents = std::move(shape);
  if (result.allocate())
    return result;
  if (error) {
    *error = "cannot allocate a tensor of shape " + toString(result.extents) +
             " and type " + std::string(nameOf(dtype));
    if (!numBytes(result.extents, dtype))
      *error += ": expected extents of at least 0 whose product in bytes fits "
                "in 63 bits";
  }
  return std::nullopt;
}

Tensor::Tensor(const Tensor &other) : type(other.type), extents(other.extents) {
  if (!other.storage)
    return;
  if (!allocate())
    throw std::bad_alloc();
  std::memcpy(storage.get(), other.storage.get(),
              static_cast<size_t>(other.bytes()));
}

Tensor &Tensor::operator=(const Tensor &other) {
  if (this != &other)
    *this = Tensor(other);
  return *this;
}

void Tensor::reshape(Shape shape) {
  assert(numElements(shape) == count && "reshape must keep all elements");
  extents = std::move(shape);
}

Tensor Tensor::copyOf(const TensorView &view) {
  return copyOf(view, view.dtype());
}

Tensor Tensor::copyOf(const TensorView &view, DType dtype) {
  Tensor result(dtype, view.sizes());
  copyElements(view, result.view());
  return result;
}

void copyElements(const TensorView &from, const MutableTensorView &to) {
  // Equal types are copied as bytes: NaN payloads and wide integers survive.
  if (from.dtype() == to.dtype()) {
    auto size = static_cast<size_t>(sizeOf(from.dtype()));
    const auto *source = static_cast<const char *>(from.data());
    auto *target = static_cast<char *>(to.data());
    forEachIndex(from.sizes(), [&](const int64_t *indices) {
      std::memcpy(target + to.offsetOf(indices) * static_cast<int64_t>(size),
                  source + from.offsetOf(indices) * static_cast<int64_t>(size),
                  size);
    });
    return;
  }
  forEachIndex(from.sizes(), [&](const int64_t *indices) {
    to.set(indices, from.get(indices));
  });
}

Tensor takeIndices(const TensorView &view, int axis,
                   const std::vector<int64_t> &indices) {
  Shape shape = view.sizes();
  shape[axis] = static_cast<int64_t>(indices.size());
  Tensor result(view.dtype(), shape);
  TensorView all = result.view();
  for (size_t i = 0; i < indices.size(); ++i) {
    TensorView place = all.slice(axis, static_cast<int64_t>(i), 1);
    auto *begin = static_cast<std::byte *>(result.data()) +
                  (static_cast<const std::byte *>(place.data()) -
                   static_cast<const std::byte *>(all.data()));
    copyElements(view.slice(axis, indices[i], 1),
                 MutableTensorView(begin, place.dtype(), place.sizes(),
                                   place.strides()));
  }
  return result;
}

} // namespace ringlet
