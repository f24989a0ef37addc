// SPDX-License-Identifier: Apache-2.0
// The GEMM whose rows go to the ranks that own them. Store threads send each slot to its owner,
// wait until the stores are complete, and count the tile; the last part of a chunk posts its flag
// at the owner. Communication CTAs, if any, add the partials of this rank's rows in fp32, in rank
// order, and may hand the sums to every rank; or the tiles of those rows, which come last, add what
// the other ranks have sent, also in rank order, to their own sums before they round them.
#pragma once

#include "kernels/sm90/chunks.cuh"
#include "kernels/sm90/kernel.cuh"
#include "kernels/sm90/summing.cuh"

namespace weft::kernels {

struct Scattering {
  struct Params {
    CoreParams core;
    CUtensorMap outs[max_ranks];  ///< by owner: the slot there for this rank
    Vectors targets[max_ranks];   ///< likewise, in 16-byte vectors
    Chunks chunks;                ///< of the rows; with `everyone` one chunk of one owner
    int ranks;
    int rank;
    bool everyone;  ///< every rank gets every row
    bool adds;      ///< land by addition
    Signal* landed[max_ranks];
    // What communication CTAs add, and where to.
    int width;    ///< vectors in a row of the result
    int sources;  ///< partials; zero: nothing is added
    Vectors slots[max_ranks];
    const Signal* arrived[max_ranks];
    int receivers;  ///< ranks that get the sums; one, this rank alone, unless they are shared
    Vectors results[max_ranks];
    Signal* posted[max_ranks];
    const Signal* gathered[max_ranks];
    /// The first index of the order whose tiles add; those of own rows do, or none.
    int adds_from;
    /// In device memory: by source the map of its partial of the own rows, then by receiver that of the
    /// sums there.
    const CUtensorMap* meeting;
  };
  static constexpr bool looks = false;    ///< at flags before the first tile
  static constexpr bool in_turns = true;  ///< owners' rows may take turns
  static constexpr bool adds = true;      ///< what others have summed, where tiles are rounded out
  struct Loader {};
  struct Sender {
    std::int64_t in_flight = 0;
    std::uint32_t landed = 0;  ///< own chunks, up to 32, whose partials have all been there
  };

  /// How many partials of other ranks the tile of this index adds.
  static __device__ __forceinline__ int addends(const Params& params, int index) {
    return index >= params.adds_from ? params.ranks - 1 : 0;
  }
  /// The rank whose partial comes `turn`-th.
  static __device__ __forceinline__ int source_of(const Params& params, int turn) {
    return turn < params.rank ? turn : turn + 1;
  }

  /// Waits for the partials of the own rows from rows.begin on that a part of a tile adds. By a store warp.
  template <int kTile>
  static __device__ __forceinline__ void await_addends(const Params& params, Sender& sender,
                                                       shapes::Rows rows) {
    using L = Layout<kTile>;
    const Coordination& c = params.core.coordination;
    if (rows.begin >= rows.end) return;
    const int last_row = min(rows.begin + (L::by_rows ? L::warpgroup_m : L::m), rows.end) - 1;
    const int first = params.chunks.chunk_of(rows.begin) - params.rank * params.chunks.per_shard;
    const int last = params.chunks.chunk_of(last_row) - params.rank * params.chunks.per_shard;
    const int others = params.ranks - 1;
    const Signal sequence = sequence_of(c);
    for (int chunk = first; chunk <= last; ++chunk) {
      const std::uint32_t bit = chunk < 32 ? 1u << chunk : 0;
      if ((sender.landed & bit) != 0) continue;
      const int number = params.rank * params.chunks.per_shard + chunk;
      hold(c, HoldPoint::before_reduce, number);
      const int lane = static_cast<int>(threadIdx.x % 32);
      if (lane < others) {
        const int source = source_of(params, lane);
        wait_for(c, params.arrived[source] + chunk, sequence, WaitKind::partial, source, number);
      }
      __syncwarp();
      sender.landed |= bit;
      ptx::fence_global_copy_engine();
    }
  }

  /// Loads a box of the `turn`-th partial; what lies past the own rows is zero. By a store warp.
  static __device__ __forceinline__ void load_addend(const Params& params, int turn,
                                                     std::uint32_t slot, std::uint32_t loaded,
                                                     int row, int column) {
    ptx::load_box(slot, params.meeting + source_of(params, turn), loaded, column,
                  row - params.rank * params.chunks.shard_rows);
  }

  /// Ends a launch whose tiles add: once everybody's sums are here. By a warp of each CTA.
  static __device__ __forceinline__ void end(const Params& params) {
    if (params.meeting != nullptr && blockIdx.x == 0)
      await_sums(params, static_cast<int>(threadIdx.x % 32));
  }

  static __device__ __forceinline__ void wait_rows(const Params& params, Loader&, int begin, int) {
    const Coordination& c = params.core.coordination;
    if (c.hold_point == HoldPoint::before_load && begin < params.core.m)
      hold(c, HoldPoint::before_load, params.chunks.chunk_of(begin));
  }

  template <int kTile>
  static __device__ __forceinline__ void store(const Params& params, Sender& sender,
                                               std::uint32_t slot, shapes::Rows rows, int column,
                                               bool leader) {
    using L = Layout<kTile>;
    const int row = rows.begin;
    if (row >= rows.end || column >= params.core.n) return;
    const Coordination& c = params.core.coordination;
    hold(c, HoldPoint::before_store, params.chunks.chunk_of(row));
    if (params.everyone) {
      for (int step = 1; step <= params.ranks; ++step) {
        const int receiver = (params.rank + step) % params.ranks;
        send(params, sender, &params.outs[receiver], receiver, slot, row, column, L::slot_bytes,
             leader);
      }
      return;
    }
    const int last = params.chunks.owner_of(min(row + 63, rows.end - 1));
    int owner = params.chunks.owner_of(row);
    const int within = row - owner * params.chunks.shard_rows;
    if (params.meeting != nullptr && owner == params.rank) {
      // Sums, for whoever gets them; this rank last.
      const int receivers = params.receivers;
      for (int step = 1; step <= receivers; ++step) {
        const int receiver = (params.rank + step + params.ranks - receivers) % params.ranks;
        send(params, sender, params.meeting + params.ranks + receiver, receiver, slot, within,
             column, L::slot_bytes, leader);
      }
      return;
    }
    send(params, sender, &params.outs[owner], owner, slot, within, column, L::slot_bytes, leader);
    // A box cannot be stored from its middle on: rows of further owners go by hand.
    for (++owner; owner <= last; ++owner) {
      if (owner != params.rank && leader) keep_pace(c, L::slot_bytes);
      __syncwarp();
      send_rows<L::slot_columns>(params, owner, slot, row, column);
    }
  }

  template <int kTile>
  static __device__ __forceinline__ void finish(const Params& params, shapes::Rows of,
                                                int tile_column) {
    using L = Layout<kTile>;
    const int row = of.begin;
    if (row >= of.end || tile_column >= params.core.n) return;
    const Coordination& c = params.core.coordination;
    ptx::wait_stores();
    ptx::fence_global_copy_engine();
    constexpr int part_rows = L::by_rows ? L::warpgroup_m : L::m;
    const int parts_across =
        (params.core.n + L::n - 1) / L::n * (L::by_columns ? L::warpgroups : 1) * L::split_k;
    const int last = params.chunks.chunk_of(min(row + part_rows, of.end) - 1);
    // Parts are counted from the row that the tiles begin with.
    const int base = params.core.order.owner_tiles > 0
                         ? params.chunks.owner_of(row) * params.chunks.shard_rows
                         : 0;
    for (int chunk = params.chunks.chunk_of(row); chunk <= last; ++chunk) {
      shapes::Rows rows = params.chunks.chunk(chunk);
      rows = {rows.begin - base, rows.end - base};
      const int parts_down = (rows.end - 1) / part_rows - rows.begin / part_rows + 1;
      const auto last_part = static_cast<std::uint32_t>(parts_down * parts_across - 1);
      if (ptx::count_up(&c.control->parts[chunk], last_part) != last_part) continue;
      const Signal sequence = sequence_of(c);
      const int owner = chunk / params.chunks.per_shard;
      const int within = chunk - owner * params.chunks.per_shard;
      const int first_receiver = params.everyone ? 0 : owner;
      const int last_receiver = params.everyone ? params.ranks - 1 : owner;
      for (int receiver = first_receiver; receiver <= last_receiver; ++receiver)
        if (params.landed[receiver] != nullptr)
          post(c, params.landed[receiver] + within, sequence, chunk);
      if (params.meeting == nullptr || owner != params.rank) continue;
      for (int receiver = 0; receiver < params.ranks; ++receiver)
        if (params.posted[receiver] != nullptr)
          post(c, params.posted[receiver] + within, sequence, chunk);
    }
  }

  template <int kThreads>
  static __device__ __forceinline__ void communicate(const Params& params, std::uint32_t shared) {
    Summation<kThreads, Params>(params, shared).run();
    if (blockIdx.x == 0) await_sums(params, static_cast<int>(threadIdx.x));
  }

 private:
  /// Waits for the sums of rank `source`, where they are shared.
  static __device__ __forceinline__ void await_sums(const Params& params, int source) {
    const Coordination& c = params.core.coordination;
    const Signal sequence = sequence_of(c);
    if (params.receivers <= 1 || source >= params.receivers) return;
    if (source == params.rank || params.gathered[source] == nullptr) return;
    for (int i = 0; i < params.chunks.per_shard; ++i) {
      const int chunk = source * params.chunks.per_shard + i;
      const shapes::Rows rows = params.chunks.chunk(chunk);
      if (rows.begin == rows.end) continue;
      wait_for(c, params.gathered[source] + i, sequence, WaitKind::result, source, chunk);
    }
  }

  /// Writes those rows of a slot that `owner` owns, a vector a lane.
  template <int kColumns>
  static __device__ __forceinline__ void send_rows(const Params& params, int owner,
                                                   std::uint32_t slot, int row, int column) {
    const int begin = owner * params.chunks.shard_rows;
    const int end = min(min(begin + params.chunks.shard_rows, params.core.m), row + 64);
    constexpr int across = kColumns / 8;
    const Vectors& target = params.targets[owner];
    const int count = (end - begin) * across;
    for (int v = static_cast<int>(threadIdx.x % 32); v < count; v += 32) {
      const int at = begin - row + v / across;
      const int chunk = v % across;
      if (column + 8 * chunk >= params.core.n) continue;
      const auto swizzle = static_cast<int>(slot_swizzle<kColumns>(at));
      const uint4 held = ptx::load_shared(slot + at * (2 * kColumns) + 16 * (chunk ^ swizzle));
      uint4* to = target.data + (v / across) * target.stride + column / 8 + chunk;
      if (params.adds)
        ptx::add_bf16(to, held);
      else
        *to = held;
    }
  }

  /// Sends a slot off to the box at (row, column) of `map`, which lies at `receiver`.
  static __device__ __forceinline__ void send(const Params& params, Sender& sender,
                                              const CUtensorMap* map, int receiver,
                                              std::uint32_t slot, int row, int column, int bytes,
                                              bool leader) {
    const Coordination& c = params.core.coordination;
    if (receiver != params.rank) {
      if (leader) keep_pace(c, bytes);
      __syncwarp();
      if (c.bytes_in_flight > 0) {
        if (sender.in_flight + bytes > c.bytes_in_flight) {
          ptx::commit_stores();
          ptx::wait_stores();
          sender.in_flight = 0;
        }
        sender.in_flight += bytes;
      }
    }
    if (params.adds)
      ptx::add_box(map, slot, column, row);
    else
      ptx::store_box(map, slot, column, row);
  }
};

}  // namespace weft::kernels
