// SPDX-License-Identifier: Apache-2.0
// What kernels and collectives cost on a site, each asked for once: a search asks for the same few again and
// again. May be shared by threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/cost/cost_model.hpp"
#include "models/cost/gemm.hpp"
#include "models/cost/roofline.hpp"
#include "models/profile/profile.hpp"
#include "models/workloads/operator.hpp"

namespace weft::model {

/// A product of so many of an operator's rows and columns on one rank. One of fewer rows than there are is a piece: it
/// follows others at once, which read the same W.
[[nodiscard]] GemmProblem piece_of(const MatmulWork& work, std::int64_t rows, std::int64_t columns,
                                   GemmLibrary library);

class Prices {
 public:
  Prices(const Profile& profile, const Fabric& fabric, CostModel model = CostModel::profile);
  ~Prices();

  /// Whether the L2 keeps W from one product to the next.
  bool weights_stay = true;

  /// Whose numbers price the library's collectives.
  [[nodiscard]] CostModel model() const { return model_; }
  /// The library's kernel for this product on these SMs; what is returned lives as long as the prices.
  [[nodiscard]] const GemmCost& gemm(const GemmProblem& problem, const SmBudget& budget);
  /// The library's collective for this message.
  [[nodiscard]] const CollectiveCost& library(const CollectiveProblem& problem, Bytes message);
  /// The library's collective for this message by one algorithm; none where it has no such way.
  [[nodiscard]] std::optional<CollectiveCost> library(const CollectiveProblem& problem,
                                                      Bytes message,
                                                      CollectiveAlgorithm algorithm) const;
  /// Our own collective over a transport; none where it cannot do it.
  [[nodiscard]] const std::optional<CollectiveCost>& direct(const CollectiveProblem& problem,
                                                            Transport transport, std::int64_t ctas);

 private:
  struct Tables;
  const std::vector<CollectiveCost>& ways(const CollectiveProblem& problem, Bytes message) const;

  const Profile profile_;
  const Fabric fabric_;
  const CostModel model_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace weft::model
