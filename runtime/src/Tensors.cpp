//===- Tensors.cpp - The caller's tensors, checked ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include "ringlet/abi/Verify.h"

#include <algorithm>
#include <cstdint>

using namespace ringlet;
using namespace ringlet::rt;

static bool isEmpty(const TensorView &view) {
  return std::find(view.sizes, view.sizes + view.rank, 0) !=
         view.sizes + view.rank;
}

int64_t rt::elementCount(const TensorView &view) {
  if (isEmpty(view))
    return 0;
  int64_t count = 1;
  for (uint32_t i = 0; i < view.rank; ++i)
    if (__builtin_mul_overflow(count, view.sizes[i], &count))
      return -1;
  return count;
}

bool rt::isHostScalar(const abi::Argument &argument) {
  return argument.dtype() == abi::DType::I64 && !argument.is_output() &&
         (!argument.sizes() || argument.sizes()->size() == 0);
}

bool rt::makeContiguous(TensorView &view) {
  int64_t stride = 1;
  for (uint32_t i = view.rank; i-- > 0;) {
    view.strides[i] = stride;
    // An empty tensor has offsets, too: take its empty axes as 1.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(view.sizes[i], 1),
                               &stride))
      return false;
  }
  int64_t bytes;
  return !__builtin_mul_overflow(stride, int64_t(abi::dtypeSize(view.dtype)),
                                 &bytes);
}

//===----------------------------------------------------------------------===//
// Where the elements lie
//===----------------------------------------------------------------------===//

/// Offsets, in bytes from `data`, of the first byte and of the one past the
/// last. False if one overflows 64 bits. The tensor is not empty.
static bool byteRange(const TensorView &view, int64_t &low, int64_t &high) {
  auto size = int64_t(abi::dtypeSize(view.dtype));
  low = 0;
  high = size;
  for (uint32_t i = 0; i < view.rank; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &reach) ||
        __builtin_mul_overflow(reach, size, &reach))
      return false;
    int64_t &end = reach < 0 ? low : high;
    if (__builtin_add_overflow(end, reach, &end))
      return false;
  }
  return low != INT64_MIN; // Whose magnitude would not fit.
}

namespace {

// Sums of many products, each of which fits 64 bits.
__extension__ typedef __int128 Wide;

/// One unknown of the question whether two tensors meet: a multiple of
/// `stride` bytes, between low and high times.
struct Term {
  int64_t stride;
  Wide low, high;
};

/// Solves  sum of c[i] * stride[i] = distance  with low <= c <= high by trying,
/// from the greatest stride down, the few c that leave a distance which the
/// rest can reach.
class Meeting {
public:
  /// The view's elements as sign * (offsets); moves `base` to the lowest.
  void add(const TensorView &view, int sign, uintptr_t &base) {
    auto size = int64_t(abi::dtypeSize(view.dtype));
    addTerm(1, size, sign);
    for (uint32_t i = 0; i < view.rank; ++i) {
      if (view.sizes[i] == 1)
        continue;
      int64_t stride = view.strides[i] * size;
      if (stride < 0)
        base += uintptr_t(stride * (view.sizes[i] - 1));
      if (stride != 0)
        addTerm(stride < 0 ? -stride : stride, view.sizes[i], sign);
    }
  }

  bool possible(Wide distance) {
    std::sort(terms.begin(), terms.end(),
              [](const Term &a, const Term &b) { return a.stride > b.stride; });
    budget = 20000;
    return search(0, distance);
  }

private:
  void addTerm(int64_t stride, int64_t count, int sign) {
    auto same = std::find_if(terms.begin(), terms.end(), [=](const Term &term) {
      return term.stride == stride;
    });
    if (same == terms.end())
      same = terms.insert(terms.end(), Term{stride, 0, 0});
    (sign > 0 ? same->high : same->low) += sign * Wide(count - 1);
  }

  static Wide floorDiv(Wide a, int64_t b) {
    return a / b - (a % b != 0 && a < 0);
  }

  bool search(size_t from, Wide distance) {
    if (budget-- == 0)
      return true; // Undecided: the caller must not rely on "no".
    if (from == terms.size())
      return distance == 0;
    Wide restLow = 0, restHigh = 0;
    for (size_t i = from + 1; i < terms.size(); ++i) {
      restLow += terms[i].low * terms[i].stride;
      restHigh += terms[i].high * terms[i].stride;
    }
    const Term &term = terms[from];
    Wide first = -floorDiv(restHigh - distance, term.stride);
    Wide last = floorDiv(distance - restLow, term.stride);
    for (Wide c = std::max(first, term.low); c <= std::min(last, term.high);
         ++c)
      if (search(from + 1, distance - c * term.stride))
        return true;
    return false;
  }

  std::vector<Term> terms;
  int budget = 0;
};

} // namespace

bool rt::mayOverlap(const TensorView &a, const TensorView &b) {
  int64_t lowA, highA, lowB, highB;
  if (isEmpty(a) || isEmpty(b))
    return false;
  if (!byteRange(a, lowA, highA) || !byteRange(b, lowB, highB))
    return true;
  auto baseA = reinterpret_cast<uintptr_t>(a.data);
  auto baseB = reinterpret_cast<uintptr_t>(b.data);
  if (baseA + uintptr_t(highA) <= baseB + uintptr_t(lowB) ||
      baseB + uintptr_t(highB) <= baseA + uintptr_t(lowA))
    return false;
  Meeting meeting;
  meeting.add(a, 1, baseA);
  meeting.add(b, -1, baseB);
  return meeting.possible(Wide(baseB) - Wide(baseA));
}

/// The axis whose step lands inside what the axes within it cover, or -1. Such
/// a tensor may have two names for one element.
static int overlappingAxis(const TensorView &view, int64_t &inner) {
  auto step = [&](uint32_t axis) {
    return view.strides[axis] < 0 ? -view.strides[axis] : view.strides[axis];
  };
  bool done[abi::kMaxRank] = {};
  inner = 1;
  while (true) {
    // The remaining axis with the shortest step.
    int next = -1;
    for (uint32_t axis = 0; axis < view.rank; ++axis)
      if (!done[axis] && view.sizes[axis] > 1 &&
          (next < 0 || step(axis) < step(uint32_t(next))))
        next = int(axis);
    if (next < 0 || step(uint32_t(next)) < inner)
      return next;
    done[next] = true;
    // Saturated, no further axis can step over it.
    if (__builtin_add_overflow(
            inner, step(uint32_t(next)) * (view.sizes[next] - 1), &inner))
      inner = INT64_MAX;
  }
}

//===----------------------------------------------------------------------===//
// One tensor
//===----------------------------------------------------------------------===//

namespace {

struct Binder {
  const abi::Function &function;
  const abi::Argument &argument;
  Binding binding;
  const Driver *driver;

  std::string place() const {
    return text("entry '", function.name()->str(), "', ",
                argument.is_output() ? "output" : "input", " '",
                argument.name()->str(), "': ");
  }

  Status sizes(const rl_tensor &tensor, TensorView &view) const;
  Status strides(const rl_tensor &tensor, TensorView &view) const;
  Status memory(const rl_tensor &tensor, const TensorView &view) const;
  Status reach(const rl_tensor &tensor, const TensorView &view) const;
  Status bind(const rl_tensor &tensor, TensorView &view) const;
};

} // namespace

Status Binder::sizes(const rl_tensor &tensor, TensorView &view) const {
  uint32_t rank = argument.sizes() ? argument.sizes()->size() : 0;
  if (tensor.dtype != int32_t(argument.dtype()))
    return invalid(place(), "expected elements of ",
                   abi::dtypeName(argument.dtype()), ", found ",
                   rl_dtype_name(tensor.dtype), " (dtype ", tensor.dtype, ")");
  if (tensor.rank < 0 || uint32_t(tensor.rank) != rank)
    return invalid(place(), "expected rank ", rank, ", found ", tensor.rank);
  if (rank && !tensor.sizes)
    return invalid(place(), "expected ", rank, " sizes, found a null pointer");
  view.dtype = argument.dtype();
  view.rank = rank;
  view.data = static_cast<char *>(tensor.data);
  if (view.data)
    view.data += tensor.byte_offset;
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t wanted = argument.sizes()->Get(i), given = tensor.sizes[i];
    if (given < 0)
      return invalid(place(), "expected a size of at least 0 on axis ", i,
                     ", found ", given);
    if (wanted != -1 && wanted != given)
      return invalid(place(), "expected size ", wanted, " on axis ", i,
                     ", found ", given);
    view.sizes[i] = given;
  }
  if (rank && view.sizes[rank - 1] > INT32_MAX)
    return invalid(place(), "expected a last axis of at most ", INT32_MAX,
                   " elements, found ", view.sizes[rank - 1], " (S3)");
  return {};
}

Status Binder::strides(const rl_tensor &tensor, TensorView &view) const {
  if (!tensor.strides) {
    if (!makeContiguous(view))
      return invalid(place(),
                     "its sizes are too large: offsets overflow 64 bits (S3)");
    return {};
  }
  if (isEmpty(view)) {
    makeContiguous(view); // Its strides mean nothing, whatever they are.
    return {};
  }
  std::copy(tensor.strides, tensor.strides + view.rank, view.strides);
  if (view.rank) {
    // The stride of an axis that has one element means nothing.
    int64_t &last = view.strides[view.rank - 1];
    if (view.sizes[view.rank - 1] == 1)
      last = 1;
    if (last != 1)
      return invalid(place(), "expected stride 1 on the last axis, found ",
                     last,
                     "; copy the tensor so that its last axis is contiguous");
  }
  int64_t low, high;
  if (!byteRange(view, low, high))
    return invalid(place(), "its sizes and strides are too large: offsets "
                            "overflow 64 bits (S3)");
  if (!argument.is_output())
    return {};
  int64_t inner;
  int axis = overlappingAxis(view, inner);
  if (axis < 0)
    return {};
  if (view.strides[axis] == 0)
    return invalid(place(), "expected distinct elements, but axis ", axis,
                   " of size ", view.sizes[axis], " has stride 0");
  return invalid(place(), "expected distinct elements, but axis ", axis,
                 " has stride ", view.strides[axis],
                 " where the axes within it reach over ", inner, " elements");
}

static bool isMemory(int32_t memory) {
  switch (memory) {
  case RL_MEMORY_UNKNOWN:
  case RL_MEMORY_HOST:
  case RL_MEMORY_CUDA:
  case RL_MEMORY_CUDA_HOST:
  case RL_MEMORY_CUDA_MANAGED:
    return true;
  default:
    return false;
  }
}

/// Before anything is read at its address.
Status Binder::reach(const rl_tensor &tensor, const TensorView &view) const {
  if (tensor.reserved[0] || tensor.reserved[1])
    return failure(RL_UNSUPPORTED, place(),
                   "this library knows no fields of rl_tensor behind "
                   "byte_offset, expected them to be 0");
  if (!isMemory(tensor.memory))
    return invalid(place(), "expected an rl_memory, found ", tensor.memory);
  if (!driver || isEmpty(view))
    return {};
  Place where = {rl_memory(tensor.memory), tensor.device};
  bool scalar = isHostScalar(argument);
  Status status = scalar ? driver->checkHostPlace(view.data, where)
                         : driver->checkPlace(view.data, where);
  if (status.ok())
    return {};
  return failure(status.code(), place(), status.message(),
                 scalar ? "; a number that kernels are to read from the "
                          "device's memory is an input of rank 1, such as a "
                          "q_offset for each sequence"
                        : "");
}

Status Binder::memory(const rl_tensor &tensor, const TensorView &view) const {
  bool scalar = isHostScalar(argument);
  RL_TRY(reach(tensor, view));
  if (isEmpty(view))
    return {};
  if (!view.data) {
    if (binding != Binding::Complete && !scalar)
      return {};
    return invalid(place(), "expected data, found a null pointer");
  }
  auto address = reinterpret_cast<uintptr_t>(view.data);
  size_t align = abi::dtypeSize(view.dtype);
  if (address % align != 0)
    return invalid(place(), "expected an address that is a multiple of ", align,
                   ", found ", static_cast<const void *>(view.data));
  int64_t low, high;
  byteRange(view, low, high);
  uintptr_t end;
  if (address < uintptr_t(-low) ||
      __builtin_add_overflow(address, uintptr_t(high), &end))
    return invalid(place(), "its elements lie outside the address space");
  return {};
}

Status Binder::bind(const rl_tensor &tensor, TensorView &view) const {
  RL_TRY(sizes(tensor, view));
  RL_TRY(strides(tensor, view));
  return memory(tensor, view);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static Status checkOverlap(const abi::Function &function,
                           const std::vector<TensorView> &views) {
  const auto &arguments = *function.arguments();
  for (uint32_t i = 0; i < views.size(); ++i) {
    if (!arguments.Get(i)->is_output())
      continue;
    // Inputs may overlap each other, and come first.
    for (uint32_t j = 0; j < i; ++j)
      if (mayOverlap(views[i], views[j]))
        return invalid("entry '", function.name()->str(), "', output '",
                       arguments.Get(i)->name()->str(),
                       "': expected memory of its own, but it overlaps '",
                       arguments.Get(j)->name()->str(), "'");
  }
  return {};
}

Status rt::bindTensors(const abi::Function &function, const rl_tensor *tensors,
                       uint32_t count, Binding binding, const Driver *driver,
                       std::vector<TensorView> &views) {
  uint32_t expected = 0;
  uint32_t all = function.arguments() ? function.arguments()->size() : 0;
  for (uint32_t i = 0; i < all; ++i)
    if (binding != Binding::Inputs ||
        !function.arguments()->Get(i)->is_output())
      ++expected;
  if (count != expected && binding == Binding::Inputs)
    return invalid("entry '", function.name()->str(), "': expected ", expected,
                   " inputs, found ", count);
  if (count != expected)
    return invalid("entry '", function.name()->str(), "': expected ", expected,
                   " tensors, inputs and then outputs, found ", count);
  if (count && !tensors)
    return invalid("entry '", function.name()->str(),
                   "': expected tensors, found a null pointer");
  views.assign(count, TensorView());
  for (uint32_t i = 0; i < count; ++i)
    RL_TRY(
        (Binder{function, *function.arguments()->Get(i), binding, driver}.bind(
            tensors[i], views[i])));
  return binding == Binding::Complete ? checkOverlap(function, views)
                                      : Status();
}
