#include "tests/unit/memory/plain_allocator.h"

#include <algorithm>

namespace tunefit::test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::int64_t RoundUp(std::int64_t bytes, std::int64_t granule) { return (bytes + granule - 1) / granule * granule; }

}  // namespace

std::vector<PlainAllocator::Piece>::iterator PlainAllocator::BestFit(std::int64_t bytes) {
  auto best = pieces_.end();
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) {
    if (!piece->free || piece->bytes < bytes) continue;
    if (best == pieces_.end() || piece->bytes < best->bytes) best = piece;
  }
  return best;
}

void PlainAllocator::ReleaseFreeSegments() {
  const auto stands_alone = [this](const Piece& piece) {
    return piece.free && std::count_if(pieces_.begin(), pieces_.end(),
                                       [&](const Piece& other) { return other.segment == piece.segment; }) == 1;
  };
  std::vector<Piece> kept;
  for (const Piece& piece : pieces_) {
    if (stands_alone(piece)) {
      reserved_ -= piece.bytes;
    } else {
      kept.push_back(piece);
    }
  }
  pieces_ = kept;
}

/// A free piece at the end of all others that holds so much.
void PlainAllocator::Reserve(std::int64_t bytes) {
  if (expandable_) {
    const std::int64_t there = !pieces_.empty() && pieces_.back().free ? pieces_.back().bytes : 0;
    const std::int64_t more = RoundUp(bytes - there, 20 * kMiB);
    pieces_.push_back({next_address_, more, 0, true});
    next_address_ += more;
    reserved_ += more;
    JoinNeighbours();
  } else {
    if (full_card_) ReleaseFreeSegments();
    const std::int64_t segment = bytes < 10 * kMiB ? 20 * kMiB : RoundUp(bytes, 2 * kMiB);
    pieces_.push_back({next_address_, segment, ++segments_, true});
    next_address_ += segment;
    reserved_ += segment;
  }
  peak_reserved_ = std::max(peak_reserved_, reserved_);
}

void PlainAllocator::JoinNeighbours() {
  for (std::size_t i = 1; i < pieces_.size();) {
    Piece& last = pieces_[i - 1];
    if (!last.free || !pieces_[i].free || last.segment != pieces_[i].segment) {
      ++i;
      continue;
    }
    last.bytes += pieces_[i].bytes;
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::int64_t PlainAllocator::Allocate(std::int64_t bytes) {
  if (BestFit(bytes) == pieces_.end()) Reserve(bytes);
  const auto piece = BestFit(bytes);
  const std::int64_t address = piece->address;
  const std::int64_t rest = piece->bytes - bytes;
  piece->free = false;
  if (expandable_ ? rest >= 512 : rest > kMiB) {
    piece->bytes = bytes;
    pieces_.insert(piece + 1, {address + bytes, rest, piece->segment, true});
  }
  return address;
}

void PlainAllocator::Free(std::int64_t address) {
  const auto piece =
      std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& at) { return at.address == address; });
  piece->free = true;
  JoinNeighbours();
}

}  // namespace tunefit::test
