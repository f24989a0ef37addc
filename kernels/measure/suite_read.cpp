// SPDX-License-Identifier: Apache-2.0
// The reader of suite files.
#include "configs/reader/strict_object.hpp"
#include "kernels/measure/suite.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/rates.hpp"

namespace weft::kernels {
namespace {

using config::at_least;
using config::StrictObject;

template <typename T>
std::vector<T> list(StrictObject& object, config::Field field) {
  return object.optional<std::vector<T>>(field).value_or(std::vector<T>{});
}

template <typename T>
std::vector<T> counts(StrictObject& object, config::Field field, T least) {
  return object.optional<std::vector<T>>(field, at_least(least)).value_or(std::vector<T>{});
}

std::vector<std::int64_t> sizes(StrictObject& object, config::Field field) {
  std::vector<std::int64_t> bytes;
  for (const Bytes size : list<Bytes>(object, field)) bytes.push_back(size.count());
  return bytes;
}

ModelShape read_model(StrictObject& object) {
  const auto one = at_least(std::int64_t{1});
  ModelShape model;
  model.name = object.required<std::string>({"name", "name that samples carry"});
  model.hidden = object.required<std::int64_t>({"hidden", "hidden size"}, one);
  model.intermediate = object.required<std::int64_t>({"intermediate", "width of the MLP"}, one);
  model.heads = object.required<std::int64_t>({"heads", "query heads"}, one);
  model.kv_heads = object.required<std::int64_t>({"kv_heads", "key and value heads"}, one);
  model.head_dim = object.required<std::int64_t>({"head_dim", "size of a head"}, one);
  model.gated = object.defaulted<bool>({"gated", "whether the MLP has a gate"}, true);
  return model;
}

std::vector<ModelShape> load_models(const std::filesystem::path& file) {
  const config::Document document = config::Document::load(file);
  StrictObject root(document);
  root.schema("weft.suite-models/1", "models whose boundaries suites measure");
  auto models = root.required_list({"models", "hyper-parameters of each"}, read_model);
  root.finish();
  return models;
}

ShapeChoice read_shape(StrictObject& object) {
  ShapeChoice shape;
  shape.model = object.required<std::string>({"model", "name of a model"});
  shape.tp = object.required<int>({"tp", "tensor-parallel size"}, at_least(1));
  shape.tokens = object.required<std::vector<std::int64_t>>({"tokens", "rows of the product"},
                                                            at_least(std::int64_t{1}));
  return shape;
}

}  // namespace

Suite load_suite(const std::filesystem::path& file) {
  const config::Document document = config::Document::load(file);
  StrictObject root(document);
  root.schema("weft.suite/1", "what weft-measure measures");
  Suite suite;
  suite.name = file.stem().string();
  suite.kind = root.required<std::string>(
      {"kind", "primitives, waits, gemm, interference, boundary, decision or collectives"});
  suite.doc = root.required<std::string>({"doc", "what question the suite answers"});
  suite.priority = root.defaulted<int>({"priority", "lower runs first"}, 0);
  suite.repetitions =
      root.defaulted<int>({"repetitions", "timed repetitions of a case"}, 20, at_least(1));
  suite.warm_up = root.defaulted<int>({"warm_up", "untimed repetitions before"}, 2, at_least(0));
  suite.rest = root.defaulted<int>(
      {"rest", "idle time after each repetition of what has a product, in repetitions"}, 0,
      at_least(0));
  const auto models = root.optional<std::string>({"models", "file of models, beside this one"});
  const auto named = list<std::string>(root, {"only_models", "names of those that are meant"});
  suite.boundaries = list<std::string>(root, {"boundaries", "boundaries of a layer"});
  suite.operations = list<std::string>(
      root, {"operations", "ag_gemm, gemm_rs, gemm_ar, gemm_a2a; where none: the first two"});
  suite.tokens = counts(root, {"tokens", "rows of the product"}, std::int64_t{1});
  suite.tp = counts(root, {"tp", "tensor-parallel sizes"}, 1);
  suite.shapes = root.optional_list(
      {"shapes", "models at one tp with tokens of their own, in place of every combination"},
      read_shape);
  suite.libraries = list<std::string>(root, {"libraries", "weft, cublaslt"});
  suite.backends =
      list<std::string>(root, {"backends", "host_link, virtual_ranks, nccl_processes, peer_gpus"});
  suite.ranks = counts(root, {"ranks", "group sizes, where not those of tp"}, 2);
  suite.chunks = counts(root, {"chunks", "pieces of each rank's shard"}, 1);
  suite.margins = counts(root, {"margins", "SMs that the product leaves free"}, 0);
  suite.ctas = counts(root, {"ctas", "CTAs that move data"}, 1);
  suite.sm_counts = counts(root, {"sm_counts", "SMs that the product may count on"}, 1);
  suite.clusters = counts(root, {"clusters", "cluster sizes of our product: 1, 2, 4"}, 1);
  suite.transports = list<std::string>(root, {"transports", "copy_engine, sm"});
  suite.schedules = list<std::string>(root, {"schedules", "chunked, device_flag"});
  suite.figures = list<std::string>(root, {"figures", "A, B, C, D, A_s, B_s; where none: all"});
  suite.epilogue_sums = root.defaulted<bool>(
      {"epilogue_sums", "what flags reduce also with sums in the epilogue of own tiles"}, false);
  suite.both_orders = root.defaulted<bool>(
      {"both_orders", "what is summed in its launch also with owners that take turns"}, false);
  suite.sizes_bytes = sizes(root, {"sizes", "payloads"});
  suite.in_flight_bytes = sizes(root, {"in_flight", "outstanding bytes a CTA"});
  for (const Bandwidth pace : list<Bandwidth>(root, {"paces", "of all CTAs together; 0: free"}))
    suite.paces_bytes_per_second.push_back(pace.bytes_per_second());
  if (const auto pace = root.optional<Bandwidth>({"link_pace", "95 % of the link"}))
    suite.link_pace_bytes_per_second = pace->bytes_per_second();
  if (const auto limit = root.optional<Bytes>({"link_in_flight",
                                               "bytes under way over a host link, each way, where "
                                               "writes and reads of one launch meet"}))
    suite.link_in_flight_bytes = limit->count();
  suite.least_chunk_rows = root.defaulted<std::int64_t>(
      {"least_chunk_rows", "thinner chunks are not legal"}, 64, at_least(std::int64_t{1}));
  suite.most_milliseconds = root.defaulted<std::int64_t>(
      {"most_milliseconds", "products estimated longer are left out; 0: none"}, 0,
      at_least(std::int64_t{0}));
  root.finish();
  if (models) suite.models = load_models(file.parent_path() / *models);
  if (!named.empty())
    std::erase_if(suite.models, [&named](const ModelShape& model) {
      return std::find(named.begin(), named.end(), model.name) == named.end();
    });
  return suite;
}

}  // namespace weft::kernels
