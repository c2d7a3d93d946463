#pragma once

#include <cstdint>
#include <vector>

namespace tunefit::test {

/// What CachingAllocator promises, written down the slow way: one list of all pieces by address, searched from its
/// start each time. For one stream.
class PlainAllocator {
 public:
  PlainAllocator(bool expandable, bool full_card) : expandable_(expandable), full_card_(full_card) {}

  /// Returns the block's address.
  std::int64_t Allocate(std::int64_t bytes);
  void Free(std::int64_t address);
  std::int64_t peak_reserved_bytes() const { return peak_reserved_; }

 private:
  struct Piece {
    std::int64_t address;
    std::int64_t bytes;
    std::int64_t segment;
    bool free;
  };

  std::vector<Piece>::iterator BestFit(std::int64_t bytes);
  void ReleaseFreeSegments();
  void Reserve(std::int64_t bytes);
  void JoinNeighbours();

  bool expandable_;
  bool full_card_;
  std::vector<Piece> pieces_;  ///< by address
  std::int64_t next_address_ = 0, segments_ = 0;
  std::int64_t reserved_ = 0, peak_reserved_ = 0;
};

}  // namespace tunefit::test
