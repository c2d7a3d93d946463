#include "core/memory/allocator.h"

#include <algorithm>

namespace tunefit {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kGranule = 512;
/// kLargeBuffer, kMinLargeAlloc, kRoundLarge and kSmallSize of CUDACachingAllocator.h.
constexpr std::int64_t kSharedSegment = 20 * kMiB;
constexpr std::int64_t kOwnSegmentFrom = 10 * kMiB;
constexpr std::int64_t kSegmentGranule = 2 * kMiB;
constexpr std::int64_t kLeastRest = kMiB;

std::int64_t RoundUp(std::int64_t bytes, std::int64_t granule) { return (bytes + granule - 1) / granule * granule; }

}  // namespace

/// Addresses from 2 TiB on, which no card has, rank alike.
std::uint64_t CachingAllocator::RankOf(std::int64_t bytes, std::int64_t address) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 32) - 1;
  return (static_cast<std::uint64_t>(bytes / kGranule) << 32) |
         static_cast<std::uint64_t>(std::min(address / kGranule, kMost));
}

/// The first piece of that rank or above.
std::vector<CachingAllocator::FreePiece>::iterator CachingAllocator::Find(std::vector<FreePiece>& free,
                                                                          std::uint64_t rank) {
  return std::lower_bound(free.begin(), free.end(), rank,
                          [](const FreePiece& piece, std::uint64_t sought) { return piece.rank < sought; });
}

CachingAllocator::Block CachingAllocator::NewPiece(const Piece& piece) {
  if (unused_.empty()) {
    pieces_.push_back(piece);
    return static_cast<Block>(pieces_.size() - 1);
  }
  const Block block = unused_.back();
  unused_.pop_back();
  At(block) = piece;
  return block;
}

CachingAllocator::Block CachingAllocator::NewSegment(std::int64_t bytes, std::uint8_t stream) {
  const std::int64_t segment = bytes < kOwnSegmentFrom ? kSharedSegment : RoundUp(bytes, kSegmentGranule);
  const Block block = NewPiece({end_address_, segment, kNone, kNone, false, stream});
  end_address_ += segment + 1;  // segments do not touch
  reserved_ += segment;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  return block;
}

/// release_cached_blocks: what cudaMalloc's failure leads to.
void CachingAllocator::ReleaseFreeSegments() {
  for (std::vector<FreePiece>& free : free_) {
    const auto kept = std::remove_if(free.begin(), free.end(), [this](const FreePiece& candidate) {
      const Piece& piece = At(candidate.piece);
      if (piece.before != kNone || piece.after != kNone) return false;
      reserved_ -= piece.bytes;
      unused_.push_back(candidate.piece);
      return true;
    });
    free.erase(kept, free.end());
  }
}

/// The segment's free end, made large enough.
CachingAllocator::Block CachingAllocator::Grow(std::int64_t bytes, std::uint8_t stream) {
  Block& last = last_[stream];
  const bool free_end = last != kNone && At(last).free;
  const std::int64_t there = free_end ? At(last).bytes : 0;
  const std::int64_t more = RoundUp(bytes - there, kSharedSegment);
  if (free_end) {
    RemoveFree(last);
    At(last).bytes += more;
  } else {
    const Block block = NewPiece({end_address_, more, last, kNone, false, stream});
    if (last != kNone) At(last).after = block;
    last = block;
  }
  end_address_ += more;
  reserved_ += more;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  return last;
}

CachingAllocator::Block CachingAllocator::Take(std::int64_t bytes, std::uint8_t stream) {
  std::vector<FreePiece>& free = free_[stream];
  const auto found = Find(free, RankOf(bytes, 0));
  if (found == free.end()) {
    if (expandable_) return Grow(bytes, stream);
    if (full_card_) ReleaseFreeSegments();
    return NewSegment(bytes, stream);
  }
  const Block block = found->piece;
  free.erase(found);
  At(block).free = false;
  return block;
}

void CachingAllocator::CutTail(Block block, std::int64_t bytes) {
  const Piece whole = At(block);
  const Block tail = NewPiece({whole.address + bytes, whole.bytes - bytes, block, whole.after, false, whole.stream});
  if (whole.after != kNone) At(whole.after).before = tail;
  if (last_[whole.stream] == block) last_[whole.stream] = tail;
  At(block).after = tail;
  At(block).bytes = bytes;
  AddFree(tail);
}

CachingAllocator::Block CachingAllocator::Allocate(std::int64_t bytes, Stream stream) {
  const Block block = Take(bytes, static_cast<std::uint8_t>(stream));
  const std::int64_t rest = At(block).bytes - bytes;
  if (expandable_ ? rest >= kGranule : rest > kLeastRest) CutTail(block, bytes);
  return block;
}

void CachingAllocator::AddFree(Block block) {
  Piece& piece = At(block);
  piece.free = true;
  std::vector<FreePiece>& free = free_[piece.stream];
  const std::uint64_t rank = RankOf(piece.bytes, piece.address);
  free.insert(Find(free, rank), {rank, block});
}

void CachingAllocator::RemoveFree(Block block) {
  Piece& piece = At(block);
  piece.free = false;
  std::vector<FreePiece>& free = free_[piece.stream];
  auto found = Find(free, RankOf(piece.bytes, piece.address));
  while (found->piece != block) ++found;
  free.erase(found);
}

void CachingAllocator::Join(Block block) {
  const Block next = At(block).after;
  const Piece gone = At(next);
  At(block).bytes += gone.bytes;
  At(block).after = gone.after;
  if (gone.after != kNone) At(gone.after).before = block;
  if (last_[gone.stream] == next) last_[gone.stream] = block;
  unused_.push_back(next);
}

void CachingAllocator::Free(Block block) {
  const Piece piece = At(block);
  if (piece.after != kNone && At(piece.after).free) {
    RemoveFree(piece.after);
    Join(block);
  }
  if (piece.before != kNone && At(piece.before).free) {
    RemoveFree(piece.before);
    Join(piece.before);
    block = piece.before;
  }
  AddFree(block);
}

}  // namespace tunefit
