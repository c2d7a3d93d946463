#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/trace/step.h"

namespace tunefit {

/// PyTorch's caching allocator, for blocks above 1 MiB (c10/cuda/CUDACachingAllocator.cpp with its
/// defaults): a request takes the smallest free block that holds it, at the lowest address, and splits it where more
/// than 1 MiB remains; without one it gets a segment of 20 MiB, or from 10 MiB on of its own size rounded up to 2 MiB.
/// A freed block joins its free neighbours. Each stream has segments of its own.
class CachingAllocator {
 public:
  /// `expandable`: one segment that grows at its end (expandable_segments:True), 20 MiB at a time, and splits at 512.
  /// `full_card`: there is never room for one more segment, so free ones are given back first.
  CachingAllocator(bool expandable, bool full_card) : expandable_(expandable), full_card_(full_card) {}

  using Block = std::int32_t;
  static constexpr Block kNone = -1;

  /// Whole multiples of 512 bytes, above 1 MiB.
  Block Allocate(std::int64_t bytes, Stream stream = Stream::kCompute);
  void Free(Block block);

  /// What torch.cuda.max_memory_reserved() counts for them.
  std::int64_t peak_reserved_bytes() const { return peak_reserved_; }

 private:
  struct Piece {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    Block before = kNone, after = kNone;    ///< neighbours in the segment
    Block previous = kNone, next = kNone;   ///< neighbours in the bin of a free piece
    Block smaller = kNone, larger = kNone;  ///< the trees below it, where the bin has one
    bool free = false;
    std::uint8_t stream = 0;

    bool IsSegment() const { return before == kNone && after == kNone; }
  };

  /// Eight bins to a doubling, from 1 MiB to 8 TiB; the last holds what is larger still.
  static constexpr int kBins = 8 * 23;
  /// A list by size, then by address. Over a long one, for thousands of equal pieces may be free at once, stands a
  /// tree that hashed priorities keep shallow (a treap).
  struct Bin {
    Block first = kNone, last = kNone;
    Block root = kNone;
    std::int32_t count = 0;
  };
  /// A stream's free pieces that could hold a request.
  struct FreePieces {
    std::array<Bin, kBins> bins;
    std::array<std::uint64_t, (kBins + 63) / 64> filled = {};  ///< a bit for each bin that is not empty
  };

  static int BinOf(std::int64_t bytes);
  static bool IsBefore(const Piece& a, std::int64_t bytes, std::int64_t address);
  static std::uint32_t PriorityOf(Block block);
  bool Splits(std::int64_t rest) const;
  Piece& At(Block block) { return pieces_[static_cast<std::size_t>(block)]; }

  Block FirstFrom(const Bin& bin, std::int64_t bytes, std::int64_t address);
  Block FindFree(std::int64_t bytes, std::uint8_t stream);
  Block NewPiece(const Piece& piece);
  Block NewSegment(std::int64_t bytes, std::uint8_t stream);
  Block Grow(std::int64_t bytes, std::uint8_t stream);
  Block CutHead(Block block, std::int64_t bytes);
  void ReleaseFreeSegments();

  void AddToTree(Bin& bin, Block block);
  void RemoveFromTree(Bin& bin, Block block, std::int64_t bytes, std::int64_t address);
  void Link(Block block);
  void Unlink(Block block, std::int64_t bytes, std::int64_t address);
  void Reposition(Block block, std::int64_t bytes, std::int64_t address);
  void AddFree(Block block);
  void RemoveFree(Block block);
  void JoinNext(Block block);
  void JoinLast(Block block);

  bool expandable_;
  bool full_card_;
  std::vector<Piece> pieces_;
  std::vector<Block> unused_;                                     ///< of pieces_
  std::array<FreePieces, kStreamCount> free_;                     ///< of each stream
  std::array<Block, kStreamCount> last_ = {kNone, kNone, kNone};  ///< of each stream's expandable segment
  std::int64_t free_segments_ = 0;                                ///< that are free as a whole
  std::int64_t end_address_ = 0;
  std::int64_t reserved_ = 0, peak_reserved_ = 0;
};

}  // namespace tunefit
