#pragma once

#include <string>
#include <vector>

namespace tunefit::test {

/// The whole file, byte for byte. Ends the program with a message where it cannot be read: a test without its data
/// proves nothing.
std::string ReadFile(const std::string& path);

/// The lines of a .jsonl file, empty ones left out.
std::vector<std::string> ReadLines(const std::string& path);

}  // namespace tunefit::test
