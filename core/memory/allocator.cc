#include "core/memory/allocator.h"

#include <algorithm>
#include <bit>

namespace tunefit {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kGranule = 512;
/// kLargeBuffer, kMinLargeAlloc, kRoundLarge and kSmallSize of CUDACachingAllocator.h.
constexpr std::int64_t kSharedSegment = 20 * kMiB;
constexpr std::int64_t kOwnSegmentFrom = 10 * kMiB;
constexpr std::int64_t kSegmentGranule = 2 * kMiB;
constexpr std::int64_t kSmallSize = kMiB;

std::int64_t RoundUp(std::int64_t bytes, std::int64_t granule) { return (bytes + granule - 1) / granule * granule; }

}  // namespace

int CachingAllocator::BinOf(std::int64_t bytes) {
  constexpr int kFirstDoubling = 20;  // 1 MiB
  const auto size = static_cast<std::uint64_t>(bytes);
  const int doubling = std::max(static_cast<int>(std::bit_width(size)) - 1, kFirstDoubling);
  const auto eighth = static_cast<int>((size >> (doubling - 3)) & 7);
  return std::min((doubling - kFirstDoubling) * 8 + eighth, kBins - 1);
}

/// The smallest free piece that holds so much, the one at the lowest address among equal ones.
CachingAllocator::Block CachingAllocator::FindFree(std::int64_t bytes, std::uint8_t stream) {
  const FreePieces& free = free_[stream];
  const int bin = BinOf(bytes);
  Block found = free.bins[static_cast<std::size_t>(bin)].smallest;
  while (found != kNone && At(found).bytes < bytes) found = At(found).larger;
  if (found != kNone) return found;
  // Whatever a later bin has is larger.
  auto word = static_cast<std::size_t>(bin + 1) / 64;
  if (word >= free.filled.size()) return kNone;
  std::uint64_t later = free.filled[word] & (~std::uint64_t{0} << (bin + 1) % 64);
  while (later == 0) {
    if (++word == free.filled.size()) return kNone;
    later = free.filled[word];
  }
  return free.bins[64 * word + static_cast<std::size_t>(std::countr_zero(later))].smallest;
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
  const Block block = NewPiece(Piece{.address = end_address_, .bytes = segment, .stream = stream});
  end_address_ += segment + 1;  // segments do not touch
  reserved_ += segment;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  return block;
}

/// release_cached_blocks: what cudaMalloc's failure leads to.
void CachingAllocator::ReleaseFreeSegments() {
  if (free_segments_ == 0) return;
  for (const FreePieces& free : free_) {
    for (const Bin& bin : free.bins) {
      for (Block block = bin.smallest; block != kNone;) {
        const Block next = At(block).larger;
        if (At(block).IsSegment()) {
          reserved_ -= At(block).bytes;
          RemoveFree(block);
          unused_.push_back(block);
        }
        block = next;
      }
    }
  }
}

/// The segment's free end, made large enough; it leaves the free pieces.
CachingAllocator::Block CachingAllocator::Grow(std::int64_t bytes, std::uint8_t stream) {
  Block& last = last_[stream];
  const bool free_end = last != kNone && At(last).free;
  const std::int64_t there = free_end ? At(last).bytes : 0;
  const std::int64_t more = RoundUp(bytes - there, kSharedSegment);
  if (free_end) {
    RemoveFree(last);
    At(last).bytes += more;
  } else {
    const Block block = NewPiece(Piece{.address = end_address_, .bytes = more, .before = last, .stream = stream});
    if (last != kNone) At(last).after = block;
    last = block;
  }
  end_address_ += more;
  reserved_ += more;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  return last;
}

/// The start of a piece, which goes on as the rest of itself.
CachingAllocator::Block CachingAllocator::CutHead(Block block, std::int64_t bytes) {
  const Block head = NewPiece({});
  Piece& start = At(head);
  Piece& rest = At(block);
  start.address = rest.address;
  start.bytes = bytes;
  start.before = rest.before;
  start.after = block;
  start.stream = rest.stream;
  if (rest.before != kNone) At(rest.before).after = head;
  if (rest.free && rest.IsSegment()) --free_segments_;
  rest.before = head;
  rest.address += bytes;
  rest.bytes -= bytes;
  return head;
}

bool CachingAllocator::Splits(std::int64_t rest) const { return expandable_ ? rest >= kGranule : rest > kSmallSize; }

CachingAllocator::Block CachingAllocator::Allocate(std::int64_t bytes, Stream stream) {
  const auto of = static_cast<std::uint8_t>(stream);
  const Block found = FindFree(bytes, of);
  if (found != kNone) {
    const std::int64_t there = At(found).bytes;
    if (Splits(there - bytes)) {
      const Block head = CutHead(found, bytes);
      Reposition(found, there);
      return head;
    }
    RemoveFree(found);
    return found;
  }
  if (full_card_ && !expandable_) ReleaseFreeSegments();
  const Block made = expandable_ ? Grow(bytes, of) : NewSegment(bytes, of);
  if (!Splits(At(made).bytes - bytes)) return made;
  const Block head = CutHead(made, bytes);
  AddFree(made);
  return head;
}

bool CachingAllocator::IsBefore(const Piece& a, const Piece& b) {
  return a.bytes < b.bytes || (a.bytes == b.bytes && a.address < b.address);
}

/// Into its bin. Pieces of up to 1 MiB, which no request looks for, are in none.
void CachingAllocator::Link(Block block) {
  Piece& piece = At(block);
  if (piece.bytes <= kSmallSize) return;
  const auto index = static_cast<std::size_t>(BinOf(piece.bytes));
  FreePieces& free = free_[piece.stream];
  Bin& bin = free.bins[index];
  free.filled[index / 64] |= std::uint64_t{1} << index % 64;
  // Forward frees from low addresses to high, backward from high to low: the place is mostly at an end.
  Block smaller = bin.largest;
  Block larger = kNone;
  if (smaller != kNone && !IsBefore(At(smaller), piece)) {
    smaller = kNone;
    larger = bin.smallest;
    while (IsBefore(At(larger), piece)) {
      smaller = larger;
      larger = At(larger).larger;
    }
  }
  piece.smaller = smaller;
  piece.larger = larger;
  (smaller == kNone ? bin.smallest : At(smaller).larger) = block;
  (larger == kNone ? bin.largest : At(larger).smaller) = block;
}

/// Out of the bin where it is as a piece of so many bytes.
void CachingAllocator::Unlink(Block block, std::int64_t bytes) {
  if (bytes <= kSmallSize) return;
  const Piece& piece = At(block);
  const auto index = static_cast<std::size_t>(BinOf(bytes));
  FreePieces& free = free_[piece.stream];
  Bin& bin = free.bins[index];
  (piece.smaller == kNone ? bin.smallest : At(piece.smaller).larger) = piece.larger;
  (piece.larger == kNone ? bin.largest : At(piece.larger).smaller) = piece.smaller;
  if (bin.smallest == kNone) free.filled[index / 64] &= ~(std::uint64_t{1} << index % 64);
}

/// A free piece that had so many bytes: it mostly keeps its place.
void CachingAllocator::Reposition(Block block, std::int64_t bytes) {
  const Piece& piece = At(block);
  if (bytes > kSmallSize && piece.bytes > kSmallSize && BinOf(bytes) == BinOf(piece.bytes) &&
      (piece.smaller == kNone || IsBefore(At(piece.smaller), piece)) &&
      (piece.larger == kNone || IsBefore(piece, At(piece.larger)))) {
    return;
  }
  Unlink(block, bytes);
  Link(block);
}

void CachingAllocator::AddFree(Block block) {
  At(block).free = true;
  if (At(block).IsSegment()) ++free_segments_;
  Link(block);
}

void CachingAllocator::RemoveFree(Block block) {
  At(block).free = false;
  if (At(block).IsSegment()) --free_segments_;
  Unlink(block, At(block).bytes);
}

/// Takes in the piece before it, which is in no bin.
void CachingAllocator::JoinLast(Block block) {
  Piece& piece = At(block);
  const Block last = piece.before;
  piece.address = At(last).address;
  piece.bytes += At(last).bytes;
  piece.before = At(last).before;
  if (piece.before != kNone) At(piece.before).after = block;
  unused_.push_back(last);
}

/// Takes in the piece behind it, which is in no bin.
void CachingAllocator::JoinNext(Block block) {
  Piece& piece = At(block);
  const Block next = piece.after;
  piece.bytes += At(next).bytes;
  piece.after = At(next).after;
  if (piece.after != kNone) At(piece.after).before = block;
  if (last_[piece.stream] == next) last_[piece.stream] = block;
  unused_.push_back(next);
}

void CachingAllocator::Free(Block block) {
  const Block last = At(block).before;
  const Block next = At(block).after;
  const bool last_is_free = last != kNone && At(last).free;
  const bool next_is_free = next != kNone && At(next).free;
  if (!last_is_free && !next_is_free) {
    AddFree(block);
    return;
  }
  const Block whole = last_is_free ? last : next;
  const std::int64_t bytes = At(whole).bytes;
  if (last_is_free && next_is_free) {
    Unlink(next, At(next).bytes);
    JoinNext(block);
  }
  if (last_is_free) {
    JoinNext(whole);
  } else {
    JoinLast(whole);
  }
  if (At(whole).IsSegment()) ++free_segments_;
  Reposition(whole, bytes);
}

}  // namespace tunefit
