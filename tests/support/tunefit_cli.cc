// tunefit_cli catalog.json [market.json] < requests > reports
// The module's functions as a native program. Writes the answer of init, the answer of describe, then a report for
// every request on stdin; requests and reports are one a line. Answers hold no line breaks: the codec writes compact
// JSON. A market that is refused ends the program with the answer of init_market on stderr.

#include <cstdlib>
#include <iostream>
#include <string>

#include "core/codec/api.h"
#include "tests/support/files.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: tunefit_cli catalog.json [market.json] < requests > reports\n";
    return EXIT_FAILURE;
  }
  std::ios::sync_with_stdio(false);
  std::cout << tunefit::Init(tunefit::test::ReadFile(argv[1])) << '\n';
  if (argc == 3) {
    const std::string status = tunefit::InitMarket(tunefit::test::ReadFile(argv[2]));
    if (status != R"({"status":"ok","issues":[]})") {
      std::cerr << status << '\n';
      return EXIT_FAILURE;
    }
  }
  std::cout << tunefit::Describe() << '\n';
  for (std::string request; std::getline(std::cin, request);) std::cout << tunefit::Estimate(request) << '\n';
  return std::cout.good() ? EXIT_SUCCESS : EXIT_FAILURE;
}
