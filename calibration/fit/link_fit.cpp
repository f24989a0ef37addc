// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/link_fit.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/fit/transfer_line.hpp"

namespace weft::calibration {

namespace {

using model::CopyPath;
using model::Profile;

double link_micros(Duration time) {
  return static_cast<double>(time.ps()) * 1e-6;
}

Duration duration_of_micros(double time) {
  return Duration::from_ps(std::max<std::int64_t>(0, std::llround(time * 1e6)));
}

Bandwidth bandwidth_of_rate(double rate) {
  return Bandwidth::from_bytes_per_second(std::llround(rate));
}

template <class Costs>
Costs* costs_on_path(std::vector<Costs>& all, CopyPath path) {
  for (Costs& costs : all) {
    if (costs.path == path) return &costs;
  }
  return nullptr;
}

}  // namespace

Profile fit_host_link(Profile profile, const std::vector<Observation>& samples) {
  const auto line = [&](const char* operation, const char* schedule, const char* transport) {
    return fit_transfers(
        transfer_rows(profile, samples, {"host_link", operation, schedule, transport}));
  };
  const auto in = line("ag_gemm", "chunked", "copy_engine");
  const auto both = line("gemm_rs", "chunked", "copy_engine");
  const auto flagged = line("ag_gemm", "device_flag", "copy_engine");
  const auto read = line("ag_gemm", "device_flag", "sm");
  const auto duplex = line("gemm_rs", "chunked", "sm");
  const auto single = line("gemm_rs", "device_flag", "sm");
  const auto awaited = line("gemm_rs", "device_flag", "copy_engine");

  for (const CopyPath path : {CopyPath::from_host, CopyPath::to_host}) {
    model::CopyEngineCosts* engine = costs_on_path(profile.copy_engines, path);
    if (engine == nullptr) continue;
    const bool inbound = path == CopyPath::from_host;
    const auto& alone = inbound ? in : both;
    if (alone) {
      // While the fetch of a reduction's piece starts, the push has the link to itself, which makes up for some of its
      // own start.
      const double made_up = !inbound && in && both ? (in->rate / both->rate - 1) * in->piece : 0;
      engine->start = {
          duration_of_micros(alone->piece + std::max(0.0, made_up)),
          alone->source(inbound ? "gathers by copy engine" : "reductions by copy engine",
                        alone->piece_error)};
    }
    if (in) {
      // No schedule sends one way only: the way out is taken to be as fast as the way in, as single copies are.
      engine->rate = {bandwidth_of_rate(in->rate),
                      in->source("gathers by copy engine", in->rate_error)};
    }
    if (both) {
      engine->duplex_rate = {bandwidth_of_rate(both->rate),
                             both->source("reductions by copy engine", both->rate_error)};
    }
  }
  if (in && flagged && flagged->piece > in->piece) {
    profile.control.stream_write = {
        duration_of_micros(flagged->piece - in->piece),
        flagged->source("gathers by copy engine with flags, over those without",
                        flagged->piece_error)};
  }
  // Where transfers are measured without the product, each flag is written by the stream that waits for it.
  const double written = link_micros(profile.control.stream_write.value);
  if (both && awaited && awaited->piece > both->piece + written) {
    profile.control.stream_wait = {
        duration_of_micros(awaited->piece - both->piece - written),
        awaited->source(
            "reductions by copy engine that write and await flags, over those without and a write",
            awaited->piece_error)};
  }
  for (const CopyPath path : {CopyPath::from_host, CopyPath::to_host}) {
    model::SmCopyCosts* sms = costs_on_path(profile.sm_copies, path);
    if (sms == nullptr) continue;
    if (read && path == CopyPath::from_host) {
      sms->start = {duration_of_micros(read->piece),
                    read->source("gathers by CTAs of one launch", read->piece_error)};
    }
    if (duplex) {
      // One launch that moves all pieces shows the rate by itself.
      const TransferLine& steady = single ? *single : *duplex;
      sms->duplex_cap = {bandwidth_of_rate(steady.rate),
                         steady.source("reductions by CTAs", steady.rate_error)};
      const double launched =
          link_micros(profile.control.launch.value + profile.control.kernel_drain.value);
      if (duplex->piece > launched) {
        sms->duplex_start = {
            duration_of_micros(duplex->piece - launched),
            duplex->source("reductions by CTAs, less a launch", duplex->piece_error)};
      }
    }
  }
  return profile;
}

}  // namespace weft::calibration
