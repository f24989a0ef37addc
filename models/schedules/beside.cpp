// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/beside.hpp"

#include <algorithm>

namespace weft::model {
namespace {

class BesideWriter {
 public:
  BesideWriter(const Boundary& boundary, const Beside& how, LayerProgram& program)
      : b_(boundary),
        how_(how),
        program_(program),
        sent_(boundary.collectives.size(), false),
        awaited_(boundary.collectives.size(), false),
        ran_(boundary.operators.size(), false) {}

  void write() {
    program_.begin(b_.name);
    for (std::size_t op = 0; op < b_.operators.size(); ++op) {
      for (std::size_t c = 0; c < b_.collectives.size(); ++c) {
        if (!sent_[c] && ready(c) && due(c, op)) send(c, op);
      }
      for (std::size_t c = 0; c < b_.collectives.size(); ++c) {
        if (relation_of(b_, c, op) == Relation::consumes) await(c);
      }
      run(op);
      ran_[op] = true;
    }
    for (std::size_t c = 0; c < b_.collectives.size(); ++c) {
      if (!sent_[c]) send(c, b_.operators.size());
    }
    for (std::size_t c = 0; c < b_.collectives.size(); ++c) await(c);
  }

 private:
  bool ready(std::size_t c) const {
    return std::all_of(b_.pairs.begin(), b_.pairs.end(), [&](const Pairing& pair) {
      return pair.collective != c || pair.relation != Relation::produces || ran_[pair.op];
    });
  }
  void join(bool compute_waits) {
    if (how_.one_stream) return;
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      program_.tag(rank, 0, sim::Purpose::synchronisation);
      const sim::StreamId compute = program_.compute(rank),
                          communication = program_.communication(rank);
      program_.join(rank, compute_waits ? compute : communication,
                    compute_waits ? communication : compute);
    }
  }
  // On one stream a collective goes as late as it may: just before the first operator that needs it.
  bool due(std::size_t c, std::size_t op) const {
    return !how_.one_stream || relation_of(b_, c, op) == Relation::consumes;
  }
  // The operator that comes next does not start before the collective holds its SMs, unless it needs its result.
  void send(std::size_t c, std::size_t next) {
    sent_[c] = true;
    const BoundaryCollective& collective = b_.collectives[c];
    if (collective.group < 2) {
      awaited_[c] = true;
      return;
    }
    join(false);
    std::vector<sim::EventId> resident;
    const bool beside =
        next < b_.operators.size() && relation_of(b_, c, next) == Relation::independent;
    if (how_.resident_first && beside) {
      for (int rank = 0; rank < program_.ranks(); ++rank)
        resident.push_back(program_.builder().event());
    }
    for (int rank = 0; rank < program_.ranks(); ++rank)
      program_.tag(rank, 0, sim::Purpose::communication);
    how_.launch(collective, resident);
    for (std::size_t rank = 0; rank < resident.size(); ++rank) {
      const int r = static_cast<int>(rank);
      program_.tag(r, 0, sim::Purpose::synchronisation);
      program_.host(r).wait(program_.compute(r), resident[rank]);
    }
  }
  void await(std::size_t c) {
    if (awaited_[c]) return;
    join(true);
    // One stream: what was sent before it has arrived too.
    for (std::size_t each = 0; each < sent_.size(); ++each) {
      if (sent_[each]) awaited_[each] = true;
    }
  }
  bool in_flight() const {
    for (std::size_t c = 0; c < sent_.size(); ++c) {
      if (sent_[c] && !awaited_[c]) return true;
    }
    return false;
  }
  void run(std::size_t op) {
    const Operator& work = b_.operators[op];
    const MatmulWork* product = matmul_of(work);
    const int margin = in_flight() ? how_.margin : 0;
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      program_.tag(rank, 0, sim::Purpose::compute);
      if (product != nullptr) {
        program_.gemm(rank, program_.compute(rank),
                      {product, product->rank.m, GemmLibrary::cublaslt, margin, work.name});
      } else {
        program_.operate(rank, program_.compute(rank), work);
      }
    }
  }

  const Boundary& b_;
  const Beside& how_;
  LayerProgram& program_;
  std::vector<bool> sent_, awaited_, ran_;
};

}  // namespace

void emit_beside(const Boundary& boundary, const Beside& how, LayerProgram& program) {
  BesideWriter(boundary, how, program).write();
}

bool has_independent_work(const Boundary& boundary) {
  return std::any_of(boundary.pairs.begin(), boundary.pairs.end(), [&](const Pairing& pair) {
    return pair.relation == Relation::independent &&
           boundary.collectives[pair.collective].group > 1;
  });
}

}  // namespace weft::model
