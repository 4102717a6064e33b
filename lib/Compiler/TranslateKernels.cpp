//===- TranslateKernels.cpp - From the llvm dialect to LLVM IR ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/TranslateKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"

using namespace mlir;

std::string ringlet::getCodeSymbol(llvm::StringRef kernel) {
  std::string symbol = "rl_";
  for (char c : kernel) {
    if (llvm::isAlnum(c) || c == '_')
      symbol += c;
    else
      symbol += '$' + llvm::utohexstr(static_cast<unsigned char>(c),
                                      /*LowerCase=*/true, /*Width=*/2);
  }
  return symbol;
}

std::unique_ptr<llvm::Module>
ringlet::translateKernels(ModuleOp module, llvm::LLVMContext &context,
                          Operation *only) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  for (Operation &op : *module.getBody())
    if (isa<LLVM::LLVMDialect>(op.getDialect())) {
      auto kernel = dyn_cast<LLVM::LLVMFuncOp>(op);
      bool isDefined = kernel && !kernel.isExternal();
      if (isDefined && only && only != &op)
        continue;
      Operation *copy = builder.clone(op);
      if (isDefined)
        cast<LLVM::LLVMFuncOp>(copy).setSymName(
            getCodeSymbol(kernel.getSymName()));
    }
  return translateModuleToLLVMIR(kernels->getOperation(), context, "kernels");
}
