// SPDX-License-Identifier: Apache-2.0
// A published schedule that fuses one product with one collective: what such schedules share, so that a file of
// the catalogue states only what its system does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/schedules/fused.hpp"
#include "models/schedules/schedule.hpp"

namespace weft::model {

/// Rules that are broken, each as its system states it.
using Rules = std::vector<std::string>;

/// Adds the rule unless it holds.
void require(Rules& broken, bool holds, std::string rule);

/// Adds a rule unless the rows of the product's operands and result are whole pieces of 16 bytes, which is what its
/// copies into shared memory move: `what` are these copies.
void require_alignment(Rules& broken, const FusedView& view, std::string_view what);

/// Adds a rule unless a product that leaves so many SMs free has one left on every rank.
void require_sms(Rules& broken, const Site& site, std::int64_t left_free);

/// Adds a rule unless devices have engines that copy to peers, from peers and inside them.
void require_engines(Rules& broken, const Site& site);

class PairSchedule : public Schedule {
 public:
  [[nodiscard]] std::vector<std::string> refusals(const Boundary& boundary, const Knobs& knobs,
                                                  const Site& site) const final;
  [[nodiscard]] std::vector<std::vector<Transfer>> transfers(const Boundary& boundary,
                                                             const Knobs& knobs,
                                                             const Site& site) const final;
  void expand(const Boundary& boundary, const Knobs& knobs, const Site& site,
              LayerProgram& program) const final;
  [[nodiscard]] Duration lower_bound(const Boundary& boundary, const Knobs& knobs,
                                     const Site& site) const final;
  [[nodiscard]] Bytes buffer_bytes(const Boundary& boundary, const Knobs& knobs,
                                   const Site& site) const final;
  [[nodiscard]] Knobs normalised(const Boundary&, const Knobs& knobs, const Site&) const override {
    return knobs;
  }

 protected:
  /// The collectives that it can fuse with a product.
  [[nodiscard]] virtual std::vector<CollectiveOp> fuses() const = 0;
  /// Whether it runs on this architecture; "sm_90", ...
  [[nodiscard]] virtual bool runs_on(std::string_view architecture) const;
  /// Whether it addresses its peers' memory itself.
  [[nodiscard]] virtual bool addresses_peers() const { return true; }
  /// The system's own rules on top of that; the pair is one that it fuses.
  virtual void rules(const FusedView& view, const Knobs& knobs, const Site& site,
                     Rules& broken) const = 0;
  /// SMs that its product leaves free.
  [[nodiscard]] virtual std::int64_t sms_left_free(const Knobs&, const Site&) const { return 0; }
  /// Rules on what stands beside the pair.
  virtual void boundary_rules(const Boundary& boundary, const FusedPair& pair, Rules& broken) const;
  /// What is moved; by default each rank's rows straight to or from their owners.
  [[nodiscard]] virtual std::vector<Transfer> moves(const FusedView& view, const Knobs& knobs,
                                                    const Site& site) const;
  virtual void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
                    LayerProgram& program) const = 0;
  /// A time that the product's tiles cannot be done in.
  [[nodiscard]] virtual Duration compute_bound(const FusedView& view, const Knobs& knobs,
                                               const Site& site) const = 0;
  [[nodiscard]] virtual Bytes buffers(const FusedView&, const Knobs&, const Site&) const {
    return {};
  }
};

/// The time in which a part of the product cannot be done, whatever else runs: its tiles on every SM at once.
[[nodiscard]] Duration tile_work(const FusedView& view, std::int64_t rows, std::int64_t columns,
                                 GemmLibrary library, int margin, const Site& site);

/// No less than what reaches rank 0 from its peers (`inbound`), or leaves it for them, by the links that all of it has to
/// pass, a switch's trees included; none where paths share no link.
[[nodiscard]] std::optional<Bandwidth> port_rate(const Site& site, bool inbound);

/// Transfers of rows that go straight between owners and the others, one chunk an owner in each rank's order;
/// an all-reduce's sums follow in a step after all of them.
[[nodiscard]] std::vector<Transfer> owner_transfers(const FusedView& view);

/// Transfers of a part of the columns by a library's or switch's algorithm, as chunk `chunk`.
[[nodiscard]] std::vector<Transfer> part_transfers(const FusedView& view, const Site& site,
                                                   CollectiveAlgorithm algorithm, RowRange columns,
                                                   int chunk);

/// Bytes of the whole matrix that is communicated, and of the product's output on one rank.
[[nodiscard]] Bytes whole_bytes(const FusedView& view);
[[nodiscard]] Bytes output_bytes(const FusedView& view);

/// The rows of an owner, or all columns.
[[nodiscard]] RowRange rows_of_owner(const FusedView& view, int owner);

}  // namespace weft::model
