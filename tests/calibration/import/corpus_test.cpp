// SPDX-License-Identifier: Apache-2.0
// Every fixture of every format: files whose names begin with "wrong" are refused with a place in
// them, all others are read; each format has at least six, of both kinds.
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "calibration/import/kineto.hpp"
#include "calibration/import/nccl_tests.hpp"
#include "calibration/import/nsys.hpp"
#include "configs/reader/document.hpp"
#include "models/import/chakra.hpp"
#include "models/import/flux_tuning.hpp"
#include "models/import/hf_config.hpp"
#include "models/import/hf_experts.hpp"
#include "models/import/megatron.hpp"
#include "models/import/nccl_env.hpp"
#include "models/import/tp_overlap.hpp"
#include "models/import/vllm_config.hpp"
#include "topologies/import/astra_network.hpp"
#include "topologies/import/nccl_xml.hpp"
#include "topologies/import/topo_matrix.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct CorpusFormat {
  std::string_view name;
  std::function<void(const std::string& text, const std::string& file)> read;
};

void PrintTo(const CorpusFormat& format, std::ostream* out) {
  *out << format.name;
}

class Corpus : public testing::TestWithParam<CorpusFormat> {};

TEST_P(Corpus, WrongFixturesAreRefusedAndTheOthersRead) {
  std::set<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator("tests/fuzz/corpus/" + std::string(GetParam().name)))
    files.insert(entry.path());
  std::size_t right = 0, wrong = 0;
  for (const fs::path& file : files) {
    const std::string text = config::read_text(file, Bytes::from(16 << 20));
    std::string refusal;
    try {
      GetParam().read(text, file.filename().string());
    } catch (const config::ConfigErrors& errors) {
      refusal = errors.what();
      EXPECT_NE(refusal.find(file.filename().string()), std::string::npos) << refusal;
    }
    const bool expected = file.filename().string().starts_with("wrong");
    EXPECT_EQ(!refusal.empty(), expected) << file << ": " << refusal;
    ++(expected ? wrong : right);
  }
  EXPECT_GE(right + wrong, 6U);
  EXPECT_GE(right, 2U);
  EXPECT_GE(wrong, 2U);
}

void read_nsys(const std::string& text, const std::string& file) {
  static_cast<void>(calibration::looks_like_sqlite(text)
                        ? calibration::parse_nsys_sqlite(text, file)
                        : calibration::parse_nsys_csv(text, file));
}

void read_kineto_file(const std::string& text, const std::string& file) {
  if (file.ends_with(".gz")) {
    static_cast<void>(calibration::read_kineto("tests/fuzz/corpus/kineto/" + file));
  } else {
    static_cast<void>(calibration::parse_kineto(text, file));
  }
}

void read_astra(const std::string& text, const std::string& file) {
  if (file.ends_with(".json")) {
    static_cast<void>(topology::read_astra_system(text, file));
  } else {
    static_cast<void>(topology::read_astra_network(text, file));
  }
}

void read_job(const std::string& text, const std::string& file) {
  static_cast<void>(model::megatron_job(model::read_launch_arguments(text, file)));
}

void read_model(const std::string& text, const std::string& file) {
  const config::Document document =
      config::Document::parse(text, file, {.dialect = config::Dialect::tolerant});
  if (model::is_sparse_model(document)) {
    static_cast<void>(model::read_sparse_model(document));
  } else {
    static_cast<void>(model::read_hf_config(document));
  }
}

template <auto read>
void just(const std::string& text, const std::string& file) {
  static_cast<void>(read(text, file));
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Corpus,
    testing::Values(CorpusFormat{"topo_matrix", just<topology::read_topo_matrix>},
                    CorpusFormat{"nccl_xml", just<topology::read_nccl_xml>},
                    CorpusFormat{"nccl_tests", just<calibration::read_nccl_tests>},
                    CorpusFormat{"kineto", read_kineto_file}, CorpusFormat{"nsys", read_nsys},
                    CorpusFormat{"astra_network", read_astra},
                    CorpusFormat{"chakra", just<model::read_chakra>},
                    CorpusFormat{"hf_config", read_model},
                    CorpusFormat{"tp_overlap", just<model::read_tp_overlap>},
                    CorpusFormat{"launch_args", read_job},
                    CorpusFormat{"nccl_env", just<model::read_nccl_environment>},
                    CorpusFormat{"flux_tuning", just<model::read_flux_tuning>},
                    CorpusFormat{"vllm_config", just<model::read_vllm_config>}),
    [](const auto& format) { return std::string(format.param.name); });

}  // namespace
}  // namespace weft
