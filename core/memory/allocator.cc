#include "core/memory/allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tunefit {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kGranule = 512;
/// kLargeBuffer, kMinLargeAlloc, kRoundLarge and kSmallSize of CUDACachingAllocator.h.
constexpr std::int64_t kSharedSegment = 20 * kMiB;
constexpr std::int64_t kOwnSegmentFrom = 10 * kMiB;
constexpr std::int64_t kSegmentGranule = 2 * kMiB;
constexpr std::int64_t kSmallSize = kMiB;
/// Pieces of a bin beyond which a tree stands over its list.
constexpr std::int32_t kMostListed = 32;

std::int64_t RoundUp(std::int64_t bytes, std::int64_t granule) { return (bytes + granule - 1) / granule * granule; }

}  // namespace

int CachingAllocator::BinOf(std::int64_t bytes) {
  constexpr int kFirstDoubling = 20;  // 1 MiB
  const auto size = static_cast<std::uint64_t>(bytes);
  const int doubling = std::max(static_cast<int>(std::bit_width(size)) - 1, kFirstDoubling);
  const auto eighth = static_cast<int>((size >> (doubling - 3)) & 7);
  return std::min((doubling - kFirstDoubling) * 8 + eighth, kBins - 1);
}

bool CachingAllocator::IsBefore(const Piece& a, std::int64_t bytes, std::int64_t address) {
  return a.bytes < bytes || (a.bytes == bytes && a.address < address);
}

/// The first piece of a bin that does not come before one of so many bytes at that address.
CachingAllocator::Block CachingAllocator::FirstFrom(const Bin& bin, std::int64_t bytes, std::int64_t address) {
  Block found = bin.first;
  if (bin.root == kNone) {
    while (found != kNone && IsBefore(At(found), bytes, address)) found = At(found).next;
    return found;
  }
  found = kNone;
  for (Block at = bin.root; at != kNone;) {
    const bool before = IsBefore(At(at), bytes, address);
    if (!before) found = at;
    at = before ? At(at).larger : At(at).smaller;
  }
  return found;
}

/// The smallest free piece that holds so much, the one at the lowest address among equal ones.
CachingAllocator::Block CachingAllocator::FindFree(std::int64_t bytes, std::uint8_t stream) {
  const FreePieces& free = free_[stream];
  const int bin = BinOf(bytes);
  const Block found = FirstFrom(free.bins[static_cast<std::size_t>(bin)], bytes, 0);
  if (found != kNone) return found;
  // Whatever a later bin has is larger.
  auto word = static_cast<std::size_t>(bin + 1) / 64;
  if (word >= free.filled.size()) return kNone;
  std::uint64_t later = free.filled[word] & (~std::uint64_t{0} << (bin + 1) % 64);
  while (later == 0) {
    if (++word == free.filled.size()) return kNone;
    later = free.filled[word];
  }
  return free.bins[64 * word + static_cast<std::size_t>(std::countr_zero(later))].first;
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
      for (Block block = bin.first; block != kNone;) {
        const Block next = At(block).next;
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
    const std::int64_t address = At(found).address;
    if (Splits(there - bytes)) {
      const Block head = CutHead(found, bytes);
      Reposition(found, there, address);
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

/// Knuth's multiplicative hash: the same tree every time, and as shallow as one of random priorities.
std::uint32_t CachingAllocator::PriorityOf(Block block) { return static_cast<std::uint32_t>(block) * 2654435769U; }

/// Below all of higher priority; what stood there is split around it.
void CachingAllocator::AddToTree(Bin& bin, Block block) {
  const std::int64_t bytes = At(block).bytes;
  const std::int64_t address = At(block).address;
  Block* link = &bin.root;
  while (*link != kNone && PriorityOf(*link) >= PriorityOf(block)) {
    link = IsBefore(At(*link), bytes, address) ? &At(*link).larger : &At(*link).smaller;
  }
  Block rest = std::exchange(*link, block);
  Block* smaller = &At(block).smaller;
  Block* larger = &At(block).larger;
  while (rest != kNone) {
    const bool before = IsBefore(At(rest), bytes, address);
    Block*& side = before ? smaller : larger;
    *side = rest;
    side = before ? &At(rest).larger : &At(rest).smaller;
    rest = *side;
  }
  *smaller = *larger = kNone;
}

/// The two trees below it are joined.
void CachingAllocator::RemoveFromTree(Bin& bin, Block block, std::int64_t bytes, std::int64_t address) {
  Block* link = &bin.root;
  while (*link != block) link = IsBefore(At(*link), bytes, address) ? &At(*link).larger : &At(*link).smaller;
  Block smaller = At(block).smaller;
  Block larger = At(block).larger;
  while (smaller != kNone && larger != kNone) {
    const bool takes_smaller = PriorityOf(smaller) > PriorityOf(larger);
    Block& top = takes_smaller ? smaller : larger;
    *link = top;
    link = takes_smaller ? &At(top).larger : &At(top).smaller;
    top = *link;
  }
  *link = smaller != kNone ? smaller : larger;
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
  const bool at_end = bin.last == kNone || IsBefore(At(bin.last), piece.bytes, piece.address);
  piece.next = at_end ? kNone : FirstFrom(bin, piece.bytes, piece.address);
  piece.previous = piece.next == kNone ? bin.last : At(piece.next).previous;
  (piece.previous == kNone ? bin.first : At(piece.previous).next) = block;
  (piece.next == kNone ? bin.last : At(piece.next).previous) = block;
  ++bin.count;
  if (bin.root != kNone) {
    AddToTree(bin, block);
  } else if (bin.count > kMostListed) {
    for (Block each = bin.first; each != kNone; each = At(each).next) AddToTree(bin, each);
  }
}

/// Out of the bin where it is as a piece of so many bytes at that address.
void CachingAllocator::Unlink(Block block, std::int64_t bytes, std::int64_t address) {
  if (bytes <= kSmallSize) return;
  const Piece& piece = At(block);
  const auto index = static_cast<std::size_t>(BinOf(bytes));
  FreePieces& free = free_[piece.stream];
  Bin& bin = free.bins[index];
  (piece.previous == kNone ? bin.first : At(piece.previous).next) = piece.next;
  (piece.next == kNone ? bin.last : At(piece.next).previous) = piece.previous;
  if (bin.root != kNone) RemoveFromTree(bin, block, bytes, address);
  if (--bin.count < kMostListed / 2) bin.root = kNone;
  if (bin.first == kNone) free.filled[index / 64] &= ~(std::uint64_t{1} << index % 64);
}

/// A free piece that had so many bytes at that address: between its neighbours it mostly keeps its place.
void CachingAllocator::Reposition(Block block, std::int64_t bytes, std::int64_t address) {
  const Piece& piece = At(block);
  if (bytes > kSmallSize && piece.bytes > kSmallSize && BinOf(bytes) == BinOf(piece.bytes)) {
    const bool after = piece.previous == kNone || IsBefore(At(piece.previous), piece.bytes, piece.address);
    const bool before = piece.next == kNone || !IsBefore(At(piece.next), piece.bytes, piece.address);
    if (after && before) return;
  }
  Unlink(block, bytes, address);
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
  Unlink(block, At(block).bytes, At(block).address);
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
  const std::int64_t address = At(whole).address;
  if (last_is_free && next_is_free) {
    Unlink(next, At(next).bytes, At(next).address);
    JoinNext(block);
  }
  if (last_is_free) {
    JoinNext(whole);
  } else {
    JoinLast(whole);
  }
  if (At(whole).IsSegment()) ++free_segments_;
  Reposition(whole, bytes, address);
}

}  // namespace tunefit
