// SPDX-License-Identifier: Apache-2.0
// A product beside traffic: how long it takes while CTAs or a copy engine move bytes for as long as it runs.
//
// Residency is the engine's: traffic that comes first holds its SMs, and clusters of the product that find no room come
// when others leave. Where whole shares come late, most SMs are idle by then: the clock is what it is without them, and
// few CTAs are not held back,
//
//   late = (resident so - alone) clock of the product, past what interferes
//
// On top of the rest comes the profile's interference of the traffic's regime, by
//
//   outstanding CTAs = CTAs x bytes in flight of each / most that one can have in flight
//
// since what is outstanding, not the rate alone, holds the device back. Writes to the host stand before the operands that
// tiles load: each turn of a tile's stages waits for its loads, whose latency they make longer,
//
//   time = time + turns x load latency x (slow-down - 1),  turns = waves x K steps / stages
//
// and other traffic stretches the product by its slow-down. Spinning CTAs and copy engines only hold room.
//
// Traffic that comes second acts from the SMs that the product leaves free, and at the end, for a last tile's time, from
// those too whose CTAs have a tile fewer. Where it sits matters: TPCs that stand alone are taken by traffic that comes
// first, or when clusters are too wide for them; else it is among the product's, where it holds back more.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "calibration/sample/sample.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::calibration {

/// Bytes that a CTA of the traffic has in flight where it is not told otherwise: eight vectors of 16 bytes of each of
/// its 512 threads (kernels/measure/traffic.cu).
inline constexpr std::int64_t traffic_in_flight = std::int64_t{512} * 16 * 8;

/// What such a CTA moves between two looks at whether it is to stop.
inline constexpr std::int64_t traffic_between_looks = 4 * traffic_in_flight;

/// Whether a case is a product of one GPU beside traffic of its own memory or of its link to the host: what the
/// functions below are of. Peers over NVLink are other links.
[[nodiscard]] bool is_beside_traffic(const Case& what);

/// The regime of a background, as the profile's interference terms name it; none: it interferes with nothing. What the
/// link carries is the profile's.
[[nodiscard]] std::optional<std::string> regime_of(const Background& background,
                                                   const model::Profile& profile);

/// What a CTA of the background has in flight, as a part of what it can have.
[[nodiscard]] double in_flight_share(const Background& background);

/// Whether a regime makes the latency of loads longer, and does not stretch what runs.
[[nodiscard]] bool holds_back_loads(const std::string& regime);

/// Whether traffic that comes second finds room only among the SMs of a product in clusters of so many CTAs: lone TPCs
/// have room for two.
[[nodiscard]] bool is_among_products(const Background& background, std::int64_t cluster);

/// The name of a regime's term for the products of a library, whose kernels keep other amounts in flight.
[[nodiscard]] std::string term_of(const std::string& regime, const std::string& library,
                                  bool among_products = false);

/// How long all turns of a product's stages take to load, one after the other in each CTA.
[[nodiscard]] Duration time_of_turns(const model::Profile& profile, const model::GemmCost& cost);

/// The slow-down of a background's regime, by the profile's terms: at least 1.
[[nodiscard]] double interference_factor(const model::Profile& profile,
                                         const Background& background, const std::string& library,
                                         bool among_products = false);

/// What a prediction takes into account, each to be left out.
struct BesideEffects {
  bool late_apart = true;      ///< CTAs that come late run past what interferes
  bool last_tile = true;       ///< traffic that comes second acts from SMs that are done early
  bool among_products = true;  ///< and holds back more from among the product's SMs
  bool turns_of_loads = true;  ///< writes make the latency of loads longer, turn by turn
  bool clusters = true;        ///< CTAs of a cluster are placed together, in one GPC
};

/// What a run of the suite says of the device that it was taken on, and of its clock: how long products alone took over
/// how long they are modelled to take, and what the host's launch adds where time begins before it, by library and order.
struct BesideBench {
  std::map<std::string, double> unit;  ///< by library
  std::map<std::pair<std::string, std::string>, Duration> launch;
};

/// By the products alone of a run, and those beside a few CTAs that spin, with room for all.
[[nodiscard]] std::map<const Run*, BesideBench> beside_benches(
    const topology::MachineSpec& machine, const model::Profile& profile,
    const std::vector<Observation>& samples);

/// The time of a `beside` or `alone` case of the host link, by the kernel that ran or, without one, by the one that the
/// model chooses; none where there is no such case.
[[nodiscard]] std::optional<Duration> predict_beside(const topology::MachineSpec& machine,
                                                     const model::Profile& profile,
                                                     const Case& what, std::int64_t speed_permille,
                                                     const BesideBench& bench = {},
                                                     const Kernel* kernel = nullptr,
                                                     const BesideEffects& effects = {});

/// The rate of the background's traffic over the host link beside a product: its pace, or what its mover reaches. CTAs
/// that come second run on the SMs that the product leaves free, and the rest after it. None for traffic that stays
/// inside the device, or that is held to fewer bytes in flight.
[[nodiscard]] std::optional<Bandwidth> predict_traffic(const model::Profile& profile,
                                                       const Background& background,
                                                       Duration product, std::int64_t free_sms);

}  // namespace weft::calibration
