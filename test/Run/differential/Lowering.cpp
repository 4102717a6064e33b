//===- Lowering.cpp - Every stage of a graph on its way down ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Lowering.h"
#include "test/Run/differential/Schedulable.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/Pipelines.h"
#include "passes/AttentionOpt/SplitKV.h"
#include "passes/AttentionToTile/Passes.h"
#include "passes/Recipes/Passes.h"
#include "passes/Recipes/Recipe.h"
#include "passes/TileOpt/Passes.h"
#include "passes/TileSchedule/Passes.h"
#include "passes/TileToNVVM/Passes.h"
#include "ringlet/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/xxhash.h"

namespace ringlet::differential {

using namespace mlir;

namespace {

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// What can execute the module.
std::optional<Stage::Kind> classify(ModuleOp module) {
  bool isGraph = false, isTile = true;
  for (mlir::Operation &op : module.getOps()) {
    isGraph |= isa<func::FuncOp>(op);
    if (!isa<rtile::FuncOp, rplan::FuncOp>(op))
      isTile = false;
  }
  if (isGraph)
    return Stage::Kind::Graph;
  if (!isTile)
    return std::nullopt;
  // Forms for one target mix in other dialects, or operations that the
  // interpreter does not know.
  WalkResult walk = module.walk([&](mlir::Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    bool known = llvm::is_contained(
        {"rtile", "rplan", "arith", "math", "scf", "builtin"}, dialect);
    known |= isa<memref::LoadOp, memref::DimOp>(op);
    return known ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return std::nullopt;
  return Stage::Kind::Tile;
}

/// Appends the errors of a scope to a text.
struct ErrorCollector : ScopedDiagnosticHandler {
  ErrorCollector(MLIRContext *context, std::string *error)
      : ScopedDiagnosticHandler(context, [error](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            *error += diagnostic.str() + "\n";
          return success();
        }) {}
};

} // namespace

/// Keeps the module after each pass.
class Lowering::Snapshots : public PassInstrumentation {
public:
  /// Names of stages begin with `prefix`.
  explicit Snapshots(Lowering &lowering, std::string prefix = "")
      : lowering(lowering), prefix(std::move(prefix)) {}

  void runAfterPass(Pass *pass, mlir::Operation *op) override {
    // Passes of a recipe run on one kernel of the module.
    auto module = dyn_cast<ModuleOp>(op);
    if (!module)
      module = op->getParentOfType<ModuleOp>();
    if (!module || pass->getArgument().empty())
      return;
    std::string name = prefix + pass->getArgument().str();
    auto occurrences = llvm::count(lowering.passes, name);
    lowering.passes.push_back(name);
    if (occurrences)
      name += "#" + std::to_string(occurrences + 1);
    take(std::move(name), module);
  }

  void take(std::string name, ModuleOp module) {
    if (needsSchedule && !hasSchedule(module))
      return;
    std::optional<Stage::Kind> kind = classify(module);
    // Graphs of a recipe are those without it.
    if (!kind || (!prefix.empty() && *kind == Stage::Kind::Graph))
      return;
    std::string text = print(module);
    if (!lowering.stages.empty() && lowering.stages.back().text == text)
      return;
    lowering.stages.push_back(
        {std::move(name), *kind, module.clone(), std::move(text)});
  }

  /// Keeps modules with scheduled kernels only.
  bool needsSchedule = false;

private:
  Lowering &lowering;
  std::string prefix;
};

Lowering::Lowering() : context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

OwningOpRef<ModuleOp> Lowering::parse(const std::string &text,
                                      std::string *error) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    *error = "the graph does not parse: " + *error;
  return module;
}

bool Lowering::runPasses(PassManager &pm, ModuleOp module, std::string *error) {
  if (succeeded(pm.run(module)))
    return true;
  *error = "lowering failed after " +
           (passes.empty() ? std::string("nothing") : passes.back()) + ": " +
           *error;
  return false;
}

bool Lowering::run(const std::string &text, bool toMachine,
                   std::string *error) {
  ErrorCollector errors(&context, error);
  OwningOpRef<ModuleOp> module = parse(text, error);
  if (!module)
    return false;
  Snapshots(*this).take("graph", *module);

  PassManager pm(&context);
  pm.addInstrumentation(std::make_unique<Snapshots>(*this));
  LevelOptions options;
  buildRingletToRTilePipeline(pm, options);
  if (toMachine)
    buildRTileToCPUPipeline(pm, options);
  return runPasses(pm, *module, error);
}

/// Kernels of a recipe for few queries, in tiles of so many rows.
static attn::SplitKVAttr getSplit(attn::AttentionOp op, const Recipe &recipe,
                                  int64_t rows, int64_t keyRows,
                                  uint64_t hash) {
  MLIRContext *context = op.getContext();
  return attn::SplitKVAttr::get(
      context, rows, keyRows, hash % 4 ? getHeadsOfTile(op) : 1,
      /*part=*/hash / 4 % 2 ? 16 : 1, /*queries=*/300, /*manyParts=*/0,
      /*fewestKeys=*/0, /*mergeColumns=*/0, /*mergeStates=*/8,
      /*most=*/hash / 8 % 2 ? 0 : 4 * keyRows, /*points=*/1 + hash / 16 % 4,
      StringAttr::get(context, recipe.name), /*fewestParts=*/1);
}

/// Gives each attention that can have a recipe one; false if none can. Of some
/// of them, sums have parts of few keys, of which rows have several; others
/// share out keys.
static bool forceRecipe(ModuleOp module, const Recipe &recipe,
                        int64_t queryRows, int64_t keyRows, uint64_t hash) {
  bool isAny = false;
  MLIRContext *context = module.getContext();
  module.walk([&](attn::AttentionOp op) {
    Type element = op.getQuery().getType().getElementType();
    bool addsUp = op.getBranches().size() != 1 && !op.isApart() &&
                  op.getMix() == attn::Mix::Sum;
    if (op.isUnion() || addsUp || !op.getSizes().empty() ||
        !(element.isF16() || element.isBF16()))
      return;
    constexpr int64_t parts[] = {0, 32, 0, 16};
    int64_t part = parts[hash / 10 % 4];
    if (part)
      keyRows = 16;
    auto redo = attn::TilingAttr::get(context, keyRows, queryRows, part);
    auto tiling = attn::TilingAttr::get(context, queryRows, keyRows,
                                        StringAttr::get(context, recipe.name),
                                        redo, part);
    SmallVector<Attribute> tilings(op.getBranches().size(), tiling);
    op.setTilingsAttr(ArrayAttr::get(context, tilings));
    if (!recipe.marksRows && hash / 40 % 2 && whyNotSplitKV(op).empty() &&
        whyNotSplitWithRecipe(op).empty())
      op.setSplitKvAttr(ArrayAttr::get(
          context, getSplit(op, recipe, queryRows, keyRows, hash / 80)));
    isAny = true;
  });
  return isAny;
}

bool Lowering::runRecipe(const std::string &text, const Recipe &recipe,
                         int64_t queryRows, int64_t keyRows,
                         std::string *error) {
  ErrorCollector errors(&context, error);
  OwningOpRef<ModuleOp> module = parse(text, error);
  if (!module)
    return false;
  if (!forceRecipe(*module, recipe, queryRows, keyRows,
                   llvm::xxh3_64bits(text)))
    return true;
  PassManager pm(&context);
  pm.addInstrumentation(
      std::make_unique<Snapshots>(*this, recipe.name.str() + "/"));
  buildRingletToRTilePipeline(pm, LevelOptions());
  pm.addPass(createRPlanAlignInputs({"sm_90a"}));
  pm.addPass(createRTileApplyRecipes());
  // Those that have no recipe.
  pm.addPass(createRTileFlushSums());
  if (!runPasses(pm, *module, error))
    return false;
  lastRecipeStage = print(*module);
  return true;
}

bool Lowering::runGeneralRecipe(const std::string &text, std::string *error) {
  ErrorCollector errors(&context, error);
  OwningOpRef<ModuleOp> module = parse(text, error);
  if (!module)
    return false;
  PassManager plain(&context);
  buildRingletToRTilePipeline(plain, LevelOptions());
  if (!runPasses(plain, *module, error))
    return false;
  PassManager pm(&context);
  pm.addInstrumentation(std::make_unique<Snapshots>(*this, "general/"));
  pm.addPass(createRTileChooseRecipes({"sm_90a", "auto"}));
  pm.addPass(createRTileApplyRecipes());
  return runPasses(pm, *module, error);
}

bool Lowering::runRecipes(const std::string &text, std::string *error) {
  // In the tallest tile, rows at the end may see nothing of the first keys.
  constexpr std::pair<int64_t, int64_t> tiles[] = {
      {32, 16}, {16, 16}, {32, 16}, {16, 32}, {32, 16},
      {32, 32}, {16, 48}, {32, 48}, {16, 80}, {32, 80}};
  auto [queryRows, keyRows] = tiles[llvm::xxh3_64bits(text) % std::size(tiles)];
  for (const Recipe &recipe : getRecipes())
    if (recipe.whyNotAttention &&
        !runRecipe(text, recipe, queryRows, keyRows, error))
      return false;
  // Of every third graph, since it doubles the stages of one.
  return llvm::xxh3_64bits(text) % 3 != 0 || runGeneralRecipe(text, error);
}

/// Asks for kernels for few queries where they are possible; false if nowhere.
static bool forceSplit(ModuleOp module, uint64_t hash) {
  bool isAny = false;
  MLIRContext *context = module.getContext();
  module.walk([&](attn::AttentionOp op) {
    if (!whyNotSplitKV(op).empty())
      return;
    // Of every other graph, calls with many keys move their sums.
    constexpr int64_t ofSum[] = {0, 32, 0, 48};
    attn::TilingAttr manyKeys;
    if (int64_t part = ofSum[hash / 46656 % 4]; part && !op.isUnion())
      manyKeys = attn::TilingAttr::get(context, 8, 16, part);
    auto tiling = attn::TilingAttr::get(context, 16, 16, /*part=*/0, manyKeys);
    SmallVector<Attribute> tilings(op.isUnion() ? 1 : op.getBranches().size(),
                                   tiling);
    op.setTilingsAttr(ArrayAttr::get(context, tilings));
    constexpr int64_t rows[] = {16, 8, 32, 24}, keys[] = {16, 8, 32};
    constexpr int64_t parts[] = {16, 1, 40}, queries[] = {64, 64, 7, 300};
    constexpr int64_t columns[] = {16, 0, 8}, states[] = {1, 8, 3};
    constexpr int64_t fewest[] = {0, 0, 20}, many[] = {0, 1, 2};
    constexpr int64_t most[] = {0, 32, 80}, points[] = {4, 1, 9};
    auto getSplit = [&](uint64_t hash, int64_t more) {
      return attn::SplitKVAttr::get(
          context, rows[hash % 4], keys[hash / 4 % 3],
          hash / 12 % 4 ? getHeadsOfTile(op) : 1, parts[hash / 48 % 3],
          queries[hash / 144 % 4] + more, many[hash / 15552 % 3],
          fewest[hash / 5184 % 3], columns[hash / 576 % 3],
          states[hash / 1728 % 3], most[hash / 186624 % 3],
          points[hash / 559872 % 3], /*recipe=*/nullptr,
          /*fewestParts=*/more ? 1 + hash % 2 : 1);
    };
    SmallVector<Attribute> splits{getSplit(hash, 0)};
    // Every other graph has some for more queries.
    if (hash / 1677721 % 2)
      splits.push_back(getSplit(hash / 7, 300));
    op.setSplitKvAttr(ArrayAttr::get(context, splits));
    isAny = true;
  });
  return isAny;
}

bool Lowering::runSplit(const std::string &text, std::string *error) {
  ErrorCollector errors(&context, error);
  OwningOpRef<ModuleOp> module = parse(text, error);
  if (!module)
    return false;
  if (!forceSplit(*module, llvm::xxh3_64bits(text)))
    return true;
  splitGraph = print(*module);
  PassManager pm(&context);
  pm.addInstrumentation(std::make_unique<Snapshots>(*this, "split/"));
  buildRingletToRTilePipeline(pm, LevelOptions());
  pm.addPass(createRTileFlushSums());
  pm.addPass(createRTileLowerRuns());
  return runPasses(pm, *module, error);
}

bool Lowering::runSchedules(const std::string &text, std::string *error) {
  // Groups of 64 rows, and key tiles as the copy engine takes them.
  constexpr std::pair<int64_t, int64_t> tiles[] = {
      {64, 16}, {64, 32}, {128, 32}, {64, 48}, {64, 64}, {128, 16}, {64, 80}};
  auto [queryRows, keyRows] = tiles[llvm::xxh3_64bits(text) % std::size(tiles)];
  ErrorCollector errors(&context, error);
  for (const Recipe &recipe : getRecipes()) {
    if (!recipe.whyNotAttention)
      continue;
    OwningOpRef<ModuleOp> module = parse(text, error);
    if (!module)
      return false;
    if (!forceRecipe(*module, recipe, queryRows, keyRows,
                     llvm::xxh3_64bits(text)))
      return true;
    constexpr const char *arch = "sm_90a";
    PassManager plain(&context);
    buildRingletToRTilePipeline(plain, LevelOptions());
    plain.addPass(createRPlanAlignInputs({arch}));
    if (!runPasses(plain, *module, error) || !keepSchedulable(*module, arch))
      return false;
    PassManager pm(&context);
    auto snapshots = std::make_unique<Snapshots>(
        *this, "scheduled " + recipe.name.str() + "/");
    snapshots->needsSchedule = true;
    pm.addInstrumentation(std::move(snapshots));
    addSchedulePasses(pm, arch);
    if (!runPasses(pm, *module, error))
      return false;
  }
  return true;
}

bool Lowering::runMma(const std::string &text, std::string *error) {
  ErrorCollector errors(&context, error);
  OwningOpRef<ModuleOp> module = parse(text, error);
  if (!module)
    return false;
  constexpr const char *arch = "sm_80";
  PassManager pm(&context);
  pm.addInstrumentation(std::make_unique<Snapshots>(*this, "mma/"));
  buildRingletToRTilePipeline(pm, LevelOptions());
  pm.addPass(createRPlanAlignInputs({arch}));
  pm.addPass(createRTileFuseScale());
  pm.addPass(createRTileDivideRows());
  pm.addPass(createRTileChooseDot({arch}));
  pm.addPass(createRTileSkipRescale());
  pm.addPass(createRTilePrefetchLoads({arch}));
  return runPasses(pm, *module, error);
}

Stage *Lowering::last(Stage::Kind kind) {
  for (Stage &stage : llvm::reverse(stages))
    if (stage.kind == kind)
      return &stage;
  return nullptr;
}

} // namespace ringlet::differential
