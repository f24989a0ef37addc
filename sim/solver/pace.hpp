// SPDX-License-Identifier: Apache-2.0
// When is work done that progresses at changing rates?
//
// A pace is an integer number of quanta a picosecond; a quantum is 2^-bits x 10^-12 of a unit of
// progress, with `bits` chosen so that the activity's cap fills 62 bits. Progress over an interval
// is pace x picoseconds, exact, so that cutting an interval in two changes nothing and the integral
// does not depend on when it was looked at. A pace is its rate rounded up to a quantum: the
// completion ceil(left / pace) then equals the closed form ceil(amount x 10^12 / rate) (error below
// 2^-60 of the time at the cap), and never comes a picosecond after it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/solver/wide.hpp"
#include "sim/units/check.hpp"
#include "sim/units/time.hpp"

namespace weft::sim {

/// Quanta a picosecond; zero stands still.
struct Pace {
  std::uint64_t quanta_per_ps = 0;
  friend constexpr bool operator==(Pace, Pace) = default;
};

/// How fine one activity's quanta are.
struct PaceScale {
  int bits = 0;

  /// The scale at which a rate of `cap` (in 2^-64 units a second) fills 62 bits.
  static constexpr PaceScale of_cap(UInt128 cap) {
    return {std::clamp(126 - bit_length(cap), 0, 62)};
  }
  /// The pace of a rate in 2^-64 units a second, rounded up.
  [[nodiscard]] constexpr Pace pace(UInt128 rate) const {
    const int drop = 64 - bits;
    const auto whole = static_cast<std::uint64_t>(rate >> drop);
    const bool rest = (rate & ((UInt128{1} << drop) - 1)) != 0;
    return {whole + (rest ? 1 : 0)};
  }
  /// `amount` units of progress in quanta.
  [[nodiscard]] constexpr UInt128 quanta(std::uint64_t amount) const {
    return (UInt128{amount} * kPicosecondsPerSecond) << bits;
  }
};

/// Work that is left, and how fast it goes.
class Progress {
 public:
  Progress() = default;
  /// `amount` units of work, standing still at `now`. It must be done within 106 days at its cap.
  Progress(std::uint64_t amount, PaceScale scale, TimePoint now)
      : left_(scale.quanta(amount)), since_(now), scale_(scale) {
    WEFT_CHECK(bit_length(amount) + scale.bits <= 87, "{} units take longer than a run can last",
               amount);
  }

  /// Goes on at `pace` from `now` on.
  void set_pace(Pace pace, TimePoint now) {
    left_ = left_at(now);
    since_ = now;
    pace_ = pace;
  }
  /// Goes on in another activity's quanta, standing still until its pace is set.
  void rescale(PaceScale scale, TimePoint now) {
    left_ = left_at(now);
    since_ = now;
    pace_ = Pace();
    if (scale.bits >= scale_.bits) {
      left_ <<= scale.bits - scale_.bits;
    } else {
      const int drop = scale_.bits - scale.bits;
      left_ = (left_ + ((UInt128{1} << drop) - 1)) >> drop;
    }
    scale_ = scale;
  }
  /// Returns when the work is done at the present pace; TimePoint::max() if never.
  [[nodiscard]] TimePoint end() const { return reaches(0); }
  /// Returns when `amount` units are left; TimePoint::max() if never.
  [[nodiscard]] TimePoint when_left(std::uint64_t amount) const {
    return reaches(amount == 0 ? 0 : scale_.quanta(amount));
  }
  /// Returns the units left at `now` (not before the last change of pace), rounded up.
  [[nodiscard]] std::uint64_t units_left(TimePoint now) const {
    const UInt128 unit = scale_.quanta(1);
    return static_cast<std::uint64_t>((left_at(now) + unit - 1) / unit);
  }
  [[nodiscard]] Pace pace() const { return pace_; }

 private:
  [[nodiscard]] UInt128 left_at(TimePoint now) const {
    const auto elapsed = static_cast<std::uint64_t>(now.ps() - since_.ps());
    const UInt128 done = UInt128{pace_.quanta_per_ps} * elapsed;
    return done < left_ ? left_ - done : 0;
  }
  [[nodiscard]] TimePoint reaches(UInt128 rest) const {
    if (left_ <= rest) return since_;
    if (pace_.quanta_per_ps == 0) return TimePoint::max();
    const UInt128 way = left_ - rest;
    const auto room = static_cast<std::uint64_t>(TimePoint::max().ps() - since_.ps());
    const UInt128 ps = (way - 1) / pace_.quanta_per_ps + 1;
    return ps >= room ? TimePoint::max()
                      : TimePoint::from_ps(since_.ps() + static_cast<std::int64_t>(ps));
  }

  UInt128 left_ = 0;
  TimePoint since_;
  Pace pace_;
  PaceScale scale_;
};

}  // namespace weft::sim
