//===- FunctionLists.h - Functions with two lists of arguments --*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head of plans and kernels: `@name(%a: type) keyword(%b: type)`.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_SUPPORT_FUNCTIONLISTS_H
#define RINGLET_DIALECTS_SUPPORT_FUNCTIONLISTS_H

#include "mlir/IR/OpImplementation.h"

namespace ringlet {

/// The arguments of both lists come into `arguments`, and in `firstCount` how
/// many of them are in the first one.
inline mlir::ParseResult parseFunctionLists(
    mlir::OpAsmParser &parser, llvm::StringRef keyword, mlir::StringAttr &name,
    llvm::SmallVectorImpl<mlir::OpAsmParser::Argument> &arguments,
    size_t &firstCount) {
  auto parseList = [&] {
    return parser.parseArgumentList(arguments,
                                    mlir::OpAsmParser::Delimiter::Paren,
                                    /*allowType=*/true);
  };
  if (parser.parseSymbolName(name) || parseList())
    return mlir::failure();
  firstCount = arguments.size();
  return mlir::failure(parser.parseKeyword(keyword) || parseList());
}

inline void printFunctionLists(mlir::OpAsmPrinter &printer,
                               llvm::StringRef name,
                               llvm::ArrayRef<mlir::BlockArgument> first,
                               llvm::StringRef keyword,
                               llvm::ArrayRef<mlir::BlockArgument> second) {
  auto printList = [&](llvm::ArrayRef<mlir::BlockArgument> list) {
    printer << '(';
    llvm::interleaveComma(list, printer, [&](mlir::BlockArgument argument) {
      printer.printRegionArgument(argument);
    });
    printer << ')';
  };
  printer << ' ';
  printer.printSymbolName(name);
  printList(first);
  printer << ' ' << keyword;
  printList(second);
}

} // namespace ringlet

#endif // RINGLET_DIALECTS_SUPPORT_FUNCTIONLISTS_H
