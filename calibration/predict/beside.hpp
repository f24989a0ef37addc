// SPDX-License-Identifier: Apache-2.0
// A product beside traffic: how long it takes while CTAs or a copy engine move bytes for as long as it runs.
//
// Residency is the engine's: traffic that comes first holds its SMs, and clusters of the product that find no room
// have their whole share still to do. On top of it comes the profile's interference of the traffic's regime, by
//
//   outstanding CTAs = CTAs x bytes in flight of each / most that one can have in flight
//
// since what is outstanding, not the rate alone, holds the device back. Spinning CTAs and copy engines only hold room.
#pragma once

#include <optional>

#include "calibration/sample/sample.hpp"
#include "models/profile/profile.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::calibration {

/// Bytes that a CTA of the traffic has in flight where it is not told otherwise: eight vectors of 16 bytes of each of
/// its 512 threads (kernels/measure/traffic.cu).
inline constexpr std::int64_t traffic_in_flight = std::int64_t{512} * 16 * 8;

/// Whether a case is a product of one GPU beside traffic of its own memory or of its link to the host: what the
/// functions below are of. Peers over NVLink are other links.
[[nodiscard]] bool is_beside_traffic(const Case& what);

/// The regime of a background, as the profile's interference terms name it; none: it interferes with nothing.
[[nodiscard]] std::optional<std::string> regime_of(const Background& background);

/// How much longer a product takes beside a background, by the profile's terms: at least 1.
[[nodiscard]] double interference_factor(const model::Profile& profile,
                                         const Background& background);

/// The time of a `beside` or `alone` case of the host link; none where there is no such case.
[[nodiscard]] std::optional<Duration> predict_beside(const topology::MachineSpec& machine,
                                                     const model::Profile& profile,
                                                     const Case& what, std::int64_t speed_permille);

/// The rate of the background's traffic over the host link beside a product: its pace, or what its mover reaches.
/// None for traffic that stays inside the device, or that is held to fewer bytes in flight.
[[nodiscard]] std::optional<Bandwidth> predict_traffic(const model::Profile& profile,
                                                       const Background& background);

}  // namespace weft::calibration
