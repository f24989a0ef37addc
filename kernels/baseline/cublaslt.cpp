// SPDX-License-Identifier: Apache-2.0
#include "kernels/baseline/cublaslt.hpp"

#include <dlfcn.h>
#include <map>
#include <stdexcept>
#include <utility>

#include <cublasLt.h>

#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

/// Workspace of a GEMM (NVIDIA advises 32 MiB on Hopper).
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

void check(cublasStatus_t status, const char* call, int line) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(call, "cuBLASLt status " + std::to_string(static_cast<int>(status)), __FILE__,
                      line);
}

#define WEFT_LT(call) check((call), #call, __LINE__)

template <typename Function>
void load(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr) throw std::runtime_error(std::string("cuBLASLt lacks ") + symbol);
}

struct Table {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) config_get = nullptr;

  explicit Table(void* library) {
    load(library, "cublasLtCreate", create);
    load(library, "cublasLtDestroy", destroy);
    load(library, "cublasLtGetVersion", version);
    load(library, "cublasLtMatmul", matmul);
    load(library, "cublasLtMatmulDescCreate", desc_create);
    load(library, "cublasLtMatmulDescDestroy", desc_destroy);
    load(library, "cublasLtMatmulDescSetAttribute", desc_set);
    load(library, "cublasLtMatrixLayoutCreate", layout_create);
    load(library, "cublasLtMatrixLayoutDestroy", layout_destroy);
    load(library, "cublasLtMatmulPreferenceCreate", preference_create);
    load(library, "cublasLtMatmulPreferenceDestroy", preference_destroy);
    load(library, "cublasLtMatmulPreferenceSetAttribute", preference_set);
    load(library, "cublasLtMatmulAlgoGetHeuristic", heuristic);
    load(library, "cublasLtMatmulAlgoConfigGetAttribute", config_get);
  }
};

void* open_library() {
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw std::runtime_error("cuBLASLt is not here: no libcublasLt.so.13, .12 or unversioned");
}

}  // namespace

struct CublasLt::State {
  Table table{open_library()};
  /// One a device: a handle keeps to the device that it was made on.
  std::map<int, cublasLtHandle_t> handles;
  /// One a device and stream: kernels that run at the same time keep counters there.
  std::map<std::pair<int, cudaStream_t>, void*> workspaces;

  static int device() {
    int current = 0;
    WEFT_CUDA(cudaGetDevice(&current));
    return current;
  }
  cublasLtHandle_t handle() {
    cublasLtHandle_t& mine = handles[device()];
    if (mine == nullptr) WEFT_LT(table.create(&mine));
    return mine;
  }
  void* workspace(cudaStream_t stream) {
    void*& mine = workspaces[{device(), stream}];
    if (mine == nullptr) WEFT_CUDA(cudaMalloc(&mine, kWorkspaceBytes));
    return mine;
  }
};

class CublasLt::Gemm {
 public:
  Gemm(const Table& table, const LibraryProblem& problem) : table_(table) {
    const auto m = static_cast<std::uint64_t>(problem.m);
    const auto n = static_cast<std::uint64_t>(problem.n);
    const auto k = static_cast<std::uint64_t>(problem.k);
    WEFT_LT(table.desc_create(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    WEFT_LT(table.desc_set(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    const std::int32_t target = problem.sm_target;
    WEFT_LT(
        table.desc_set(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &target, sizeof target));
    // The library is column-major: its A is W, its B is X, and its result is Y transposed.
    WEFT_LT(table.layout_create(&w, CUDA_R_16BF, k, n, problem.k));
    WEFT_LT(table.layout_create(&x, CUDA_R_16BF, k, m, problem.k));
    WEFT_LT(table.layout_create(&y, CUDA_R_16BF, n, m, problem.n));
  }
  ~Gemm() {
    static_cast<void>(table_.layout_destroy(w));
    static_cast<void>(table_.layout_destroy(x));
    static_cast<void>(table_.layout_destroy(y));
    static_cast<void>(table_.desc_destroy(operation));
  }
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t w = nullptr;
  cublasLtMatrixLayout_t x = nullptr;
  cublasLtMatrixLayout_t y = nullptr;
  cublasLtMatmulAlgo_t algorithm{};

 private:
  Table table_;
};

CublasLt::CublasLt() : state_(std::make_unique<State>()) {}

CublasLt::~CublasLt() {
  for (const auto& [place, workspace] : state_->workspaces) static_cast<void>(cudaFree(workspace));
  for (const auto& [device, handle] : state_->handles)
    static_cast<void>(state_->table.destroy(handle));
}

std::size_t CublasLt::version() const {
  return state_->table.version();
}

std::vector<std::shared_ptr<const CublasLt::Gemm>> CublasLt::propose(const LibraryProblem& problem,
                                                                     int most) const {
  const Table& table = state_->table;
  const Gemm shape(table, problem);
  cublasLtMatmulPreference_t preference = nullptr;
  WEFT_LT(table.preference_create(&preference));
  WEFT_LT(table.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                               &kWorkspaceBytes, sizeof kWorkspaceBytes));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status =
      table.heuristic(state_->handle(), shape.operation, shape.w, shape.x, shape.y, shape.y,
                      preference, most, results.data(), &found);
  static_cast<void>(table.preference_destroy(preference));
  WEFT_LT(status);
  std::vector<std::shared_ptr<const Gemm>> proposals;
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
    if (result.state != CUBLAS_STATUS_SUCCESS) continue;
    auto gemm = std::make_shared<Gemm>(table, problem);
    gemm->algorithm = result.algo;
    proposals.push_back(std::move(gemm));
  }
  if (proposals.empty()) throw std::runtime_error("cuBLASLt has no kernel for this shape");
  return proposals;
}

void CublasLt::run(const Gemm& gemm, const void* x, const void* w, void* y,
                   cudaStream_t stream) const {
  const float one = 1.0f;
  const float zero = 0.0f;
  WEFT_LT(state_->table.matmul(state_->handle(), gemm.operation, &one, w, gemm.w, x, gemm.x, &zero,
                               y, gemm.y, y, gemm.y, &gemm.algorithm, state_->workspace(stream),
                               kWorkspaceBytes, stream));
}

namespace {

/// Driver functions that read a captured launch.
struct GraphReader {
  decltype(&cuGraphKernelNodeGetParams) params = nullptr;
  decltype(&cuFuncGetName) name = nullptr;
  decltype(&cuKernelGetName) kernel_name = nullptr;

  GraphReader() {
    look_up("cuGraphKernelNodeGetParams", params);
    look_up("cuFuncGetName", name);
    look_up("cuKernelGetName", kernel_name);
  }

  template <typename Function>
  static void look_up(const char* symbol, Function& function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    WEFT_CUDA(cudaGetDriverEntryPointByVersion(symbol, &found, 12040, cudaEnableDefault, &result));
    if (result == cudaDriverEntryPointSuccess) function = reinterpret_cast<Function>(found);
  }
};

void read_node(const GraphReader& reader, cudaGraphNode_t node, LibraryKernel& kernel) {
  CUDA_KERNEL_NODE_PARAMS params{};
  if (reader.params == nullptr || reader.params(node, &params) != CUDA_SUCCESS) return;
  kernel.grid = static_cast<int>(params.gridDimX * params.gridDimY * params.gridDimZ);
  kernel.threads = static_cast<int>(params.blockDimX * params.blockDimY * params.blockDimZ);
  const char* text = nullptr;
  if (params.func != nullptr && reader.name != nullptr)
    static_cast<void>(reader.name(&text, params.func));
  if (text == nullptr && params.kern != nullptr && reader.kernel_name != nullptr)
    static_cast<void>(reader.kernel_name(&text, params.kern));
  if (text != nullptr) kernel.name = text;
}

}  // namespace

LibraryKernel CublasLt::kernel_of(const Gemm& gemm, const void* x, const void* w, void* y,
                                  cudaStream_t stream) const {
  LibraryKernel kernel;
  std::int32_t split_k = 1;
  std::size_t written = 0;
  if (state_->table.config_get(&gemm.algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split_k,
                               sizeof split_k, &written) == CUBLAS_STATUS_SUCCESS &&
      split_k > 0)
    kernel.split_k = split_k;

  // Nothing may be allocated while the stream is captured.
  static_cast<void>(state_->workspace(stream));
  static_cast<void>(state_->handle());
  cudaGraph_t graph = nullptr;
  WEFT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    run(gemm, x, w, y, stream);
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    throw;
  }
  WEFT_CUDA(cudaStreamEndCapture(stream, &graph));
  std::size_t count = 0;
  WEFT_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  WEFT_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  const GraphReader reader;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    WEFT_CUDA(cudaGraphNodeGetType(node, &type));
    LibraryKernel seen = kernel;
    if (type == cudaGraphNodeTypeKernel) read_node(reader, node, seen);
    if (seen.grid > 0 && kernel.grid == 0) kernel = seen;
  }
  WEFT_CUDA(cudaGraphDestroy(graph));
  static_cast<void>(read_kernel_name(kernel.name, kernel));
  return kernel;
}

}  // namespace weft::kernels
