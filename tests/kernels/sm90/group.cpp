// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/sm90/group.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/memory/check.hpp"

namespace weft::kernels::test {
namespace {

std::size_t size(int a, int b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

}  // namespace

const char* name(Operation operation) {
  constexpr const char* kNames[] = {
      "ag_gemm",          "ag_gemm_far", "gemm_rs",          "gemm_rs_apart",    "gemm_rs_add",
      "gemm_rs_epilogue", "gemm_ar",     "gemm_ar_epilogue", "gemm_ar_one_shot", "gemm_a2a"};
  return kNames[static_cast<int>(operation)];
}

bool gathers(Operation operation) {
  return operation == Operation::ag_gemm || operation == Operation::ag_gemm_far;
}

struct Group::Rank {
  Rank(const GroupProblem& p, const shapes::Ownership& o, int rank)
      : x{Bf16(size(p.m, p.k + p.x_padding)), Bf16(size(p.m, p.k + p.x_padding))},
        gathered(size(p.m, p.k + p.x_padding)),
        w(size(p.n, p.k)),
        slots{Bf16(slot_size(p, o)), Bf16(slot_size(p, o))},
        out(size(std::max(p.m, o.shard_rows()), p.n)),
        flags(static_cast<std::size_t>(2 * p.ranks * o.chunks())),
        workspace(rank),
        reference{Reference(p.m, p.n), Reference(p.m, p.n)},
        options(p.options) {
    options.sms = 132 / p.ranks - (132 / p.ranks) % 2;
  }
  static std::size_t slot_size(const GroupProblem& p, const shapes::Ownership& o) {
    return size(p.ranks * std::max(o.shard_rows(), p.m), p.n + p.slot_padding);
  }
  // By the parity of the sequence number: a rank may be one round ahead of another, never two.
  Bf16 x[2];      ///< this rank's operand, whole for the scattering kernels
  Bf16 gathered;  ///< for ag_gemm
  Bf16 w;
  Bf16 slots[2];  ///< by source
  Bf16 out;
  Words flags;  ///< landed or ready, then shared results
  Workspace workspace;
  Reference reference[2];
  Options options;
  OwnStream stream;
  std::vector<Plan> plans[2];
};

Group::Group(const GroupProblem& problem, std::uint32_t seed)
    : problem_(problem), ownership_{problem.m, problem.ranks, problem.chunks_per_shard} {
  for (int r = 0; r < problem_.ranks; ++r)
    ranks_.push_back(std::make_unique<Rank>(problem_, ownership_, r));
  draw(seed);
  for (int r = 0; r < problem_.ranks; ++r) plan(r);
}

Group::~Group() {
  cudaDeviceSynchronize();
}

void Group::alter(int rank, const std::function<void(Options&)>& change) {
  change(ranks_[static_cast<std::size_t>(rank)]->options);
  plan(rank);
}

void Group::draw(std::uint32_t seed) {
  const GroupProblem& p = problem_;
  const auto k = static_cast<std::size_t>(p.k);
  const bool gathers = test::gathers(p.operation);
  const bool apart = gathers || p.operation == Operation::gemm_a2a;
  for (auto& rank : ranks_) {
    rank->w.randomise(++seed);
    for (std::uint32_t parity = 0; parity < 2; ++parity)
      // One X for all where it is gathered; a partial of its own otherwise.
      rank->x[parity].randomise(gathers ? 7'777 + parity : ++seed);
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (int parity = 0; parity < 2; ++parity) {
      Reference& reference = ranks_[r]->reference[parity];
      reference = Reference(p.m, p.n);
      for (std::size_t s = 0; s < ranks_.size(); ++s) {
        if (apart && r != s) continue;
        const Rank& source = *ranks_[s];
        reference.add(source.x[parity].data(), k + static_cast<std::size_t>(p.x_padding),
                      source.w.data(), k, p.k);
      }
    }
  poison();
}

void Group::poison() {
  WEFT_CUDA(cudaDeviceSynchronize());
  for (int r = 0; r < problem_.ranks; ++r) {
    Rank& rank = *ranks_[static_cast<std::size_t>(r)];
    rank.out.poison();
    for (const Bf16& slots : rank.slots) slots.poison();
    rank.gathered.poison();
    if (problem_.operation == Operation::gemm_rs_add)
      WEFT_CUDA(cudaMemset(rank.out.data(), 0, rank.out.count() * 2));
  }
  WEFT_CUDA(cudaDeviceSynchronize());
}

void Group::plan(int r) {
  for (int parity = 0; parity < 2; ++parity) plan(r, parity);
}

void Group::plan(int r, int parity) {
  const GroupProblem& p = problem_;
  Rank& me = *ranks_[static_cast<std::size_t>(r)];
  const int chunks = p.chunks_per_shard;
  const int slot_rows = p.operation == Operation::gemm_ar_one_shot ? p.m : ownership_.shard_rows();
  const auto slot_at = [&](Rank& owner, int source) {
    const int stride = p.n + p.slot_padding;
    return Matrix{owner.slots[parity].data() + size(source * slot_rows, stride), stride};
  };
  const auto landed_at = [&](Rank& owner, int source) {
    return owner.flags.data() + source * chunks;
  };
  const auto shared_at = [&](Rank& receiver, int source) {
    return receiver.flags.data() + (p.ranks + source) * chunks;
  };
  const auto row_of = [&](Rank& receiver, int rank) {
    return Matrix{receiver.out.data() + size(ownership_.shard(rank).begin, p.n), p.n};
  };
  const int x_stride = p.k + p.x_padding;
  const Product product{p.m, p.n, p.k, me.x[parity].data(), x_stride, me.w.data(), 0};
  me.plans[parity].clear();

  if (gathers(p.operation)) {
    Gather gather;
    gather.far = p.operation == Operation::ag_gemm_far;
    gather.rank = r;
    gather.ranks = p.ranks;
    gather.chunks_per_shard = chunks;
    gather.ready = me.flags.data();
    gather.ctas = p.communication_ctas;
    for (int s = 0; s < p.ranks; ++s) {
      Rank& source = *ranks_[static_cast<std::size_t>(s)];
      gather.shards.push_back(source.x[parity].data() + size(ownership_.shard(s).begin, x_stride));
      if (!p.shards_ready) gather.shard_ready.push_back(shared_at(me, s));
    }
    Product over = product;
    over.x = me.gathered.data();
    me.plans[parity].push_back(
        plan_ag_gemm(over, {me.out.data(), 0}, gather, me.options, me.workspace));
    return;
  }

  Scatter scatter;
  Reduce reduce;
  Share share;
  OneShot shot;
  scatter.rank = shot.rank = r;
  scatter.ranks = shot.ranks = p.ranks;
  scatter.chunks_per_shard = chunks;
  scatter.owners_in_turns = p.owners_in_turns;
  reduce.ctas = shot.ctas = p.communication_ctas;
  const bool shared =
      p.operation == Operation::gemm_ar || p.operation == Operation::gemm_ar_epilogue;
  reduce.out = shared ? row_of(me, r) : Matrix{me.out.data(), p.n};
  shot.out = {me.out.data(), p.n};
  for (int s = 0; s < p.ranks; ++s) {
    Rank& peer = *ranks_[static_cast<std::size_t>(s)];
    const bool adds = p.operation == Operation::gemm_rs_add;
    scatter.slots.push_back(adds ? Matrix{peer.out.data(), p.n} : slot_at(peer, r));
    scatter.landed.push_back(landed_at(peer, r));
    reduce.slots.push_back(slot_at(me, s));
    reduce.landed.push_back(landed_at(me, s));
    share.outs.push_back(row_of(peer, r));
    share.posted.push_back(shared_at(peer, r));
    share.arrived.push_back(shared_at(me, s));
  }
  shot.slots = scatter.slots;
  shot.landed = scatter.landed;
  shot.incoming = reduce.slots;
  shot.arrived = reduce.landed;
  switch (p.operation) {
    case Operation::ag_gemm:
    case Operation::ag_gemm_far:
      break;
    case Operation::gemm_rs:
      me.plans[parity].push_back(plan_gemm_rs(product, scatter, reduce, me.options, me.workspace));
      break;
    case Operation::gemm_rs_apart: {
      Reduce later = reduce;
      later.ctas = 0;
      me.plans[parity].push_back(plan_gemm_rs(product, scatter, later, me.options, me.workspace));
      me.plans[parity].push_back(
          plan_reduce(p.m, p.n, scatter, reduce, nullptr, me.options, me.workspace));
      break;
    }
    case Operation::gemm_rs_add: {
      scatter.landing = Landing::reduce_add;
      reduce.ctas = 0;
      me.plans[parity].push_back(plan_gemm_rs(product, scatter, reduce, me.options, me.workspace));
      break;
    }
    case Operation::gemm_rs_epilogue:
      reduce.adding = Adding::epilogue;
      reduce.ctas = 0;
      me.plans[parity].push_back(plan_gemm_rs(product, scatter, reduce, me.options, me.workspace));
      break;
    case Operation::gemm_ar_epilogue:
      reduce.adding = Adding::epilogue;
      reduce.ctas = 0;
      [[fallthrough]];
    case Operation::gemm_ar:
      me.plans[parity].push_back(
          plan_gemm_ar(product, scatter, reduce, share, me.options, me.workspace));
      break;
    case Operation::gemm_ar_one_shot:
      me.plans[parity].push_back(plan_gemm_ar(product, shot, me.options, me.workspace));
      break;
    case Operation::gemm_a2a:
      me.plans[parity].push_back(plan_gemm_a2a(product, scatter, me.options, me.workspace));
      break;
  }
}

void Group::launch(Signal sequence, const std::vector<int>& order, int parity) {
  std::vector<int> all(ranks_.size());
  std::iota(all.begin(), all.end(), 0);
  for (const int r : order.empty() ? all : order) {
    const Rank& rank = *ranks_[static_cast<std::size_t>(r)];
    if (gathers(problem_.operation)) {
      const shapes::Rows own = ownership_.shard(r);
      const int stride = problem_.k + problem_.x_padding;
      const std::size_t at = size(own.begin, stride);
      WEFT_CUDA(cudaMemcpyAsync(rank.gathered.data() + at, rank.x[parity].data() + at,
                                size(own.count(), stride) * 2, cudaMemcpyDeviceToDevice,
                                rank.stream.get()));
    }
    for (const Plan& each : rank.plans[parity]) each.launch(rank.stream.get(), sequence);
  }
}

void Group::finish() {
  for (const auto& rank : ranks_) WEFT_CUDA(cudaStreamSynchronize(rank->stream.get()));
}

double Group::difference(Signal sequence) const {
  const auto parity = sequence % 2;
  const GroupProblem& p = problem_;
  const auto n = static_cast<std::size_t>(p.n);
  double worst = 0;
  const auto note = [&](const Reference& reference, const std::uint16_t* out, int first, int rows) {
    const double relative = reference.against(out, n, first, rows, 0).relative;
    if (!(relative <= worst) && !std::isnan(worst)) worst = relative;  // NaN stays
  };
  for (int r = 0; r < p.ranks; ++r) {
    const Rank& rank = *ranks_[static_cast<std::size_t>(r)];
    const shapes::Rows own = ownership_.shard(r);
    switch (p.operation) {
      case Operation::gemm_rs:
      case Operation::gemm_rs_apart:
      case Operation::gemm_rs_add:
      case Operation::gemm_rs_epilogue:
        note(rank.reference[parity], rank.out.data(), own.begin, own.count());
        break;
      case Operation::gemm_a2a:
        for (int s = 0; s < p.ranks; ++s)
          note(ranks_[static_cast<std::size_t>(s)]->reference[parity],
               rank.slots[parity].data() + size(s * ownership_.shard_rows(), p.n), own.begin,
               own.count());
        break;
      case Operation::ag_gemm:
      case Operation::ag_gemm_far:
      case Operation::gemm_ar:
      case Operation::gemm_ar_epilogue:
      case Operation::gemm_ar_one_shot:
        note(rank.reference[parity], rank.out.data(), 0, p.m);
        break;
    }
  }
  return worst;
}

std::vector<std::uint16_t> Group::result(int rank) const {
  const Bf16& out = ranks_[static_cast<std::size_t>(rank)]->out;
  std::vector<std::uint16_t> bits(out.count());
  WEFT_CUDA(cudaMemcpy(bits.data(), out.data(), 2 * bits.size(), cudaMemcpyDeviceToHost));
  return bits;
}

Workspace& Group::workspace(int rank) {
  return ranks_[static_cast<std::size_t>(rank)]->workspace;
}
cudaStream_t Group::stream(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)]->stream.get();
}
void Group::set_flags(Signal value) {
  for (const auto& rank : ranks_) rank->flags.set(value);
}

}  // namespace weft::kernels::test
