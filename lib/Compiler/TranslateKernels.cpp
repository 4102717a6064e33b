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
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/Module.h"

using namespace mlir;

std::unique_ptr<llvm::Module>
ringlet::translateKernels(ModuleOp module, llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  for (Operation &op : *module.getBody())
    if (isa<LLVM::LLVMDialect>(op.getDialect()))
      builder.clone(op);
  return translateModuleToLLVMIR(kernels->getOperation(), context, "kernels");
}
