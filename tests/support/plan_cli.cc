// plan_cli catalog.json market.json [--prints] < requests
// Plans every request on stdin, one a line, without a pause, and says how long each took; with --prints the answers
// stand on stdout.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "core/codec/api.h"
#include "tests/support/files.h"

namespace {

double NowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: plan_cli catalog.json market.json [--prints] < requests\n";
    return EXIT_FAILURE;
  }
  const bool prints = argc == 4 && std::string_view(argv[3]) == "--prints";
  tunefit::Init(tunefit::test::ReadFile(argv[1]));
  tunefit::InitMarket(tunefit::test::ReadFile(argv[2]));
  std::int64_t id = 0;
  for (std::string request; std::getline(std::cin, request);) {
    const double start = NowMs();
    const std::string started = tunefit::PlanStart(request);
    std::string answer = started;
    if (started.find("\"id\"") != std::string::npos) answer = tunefit::PlanStep(++id, 1e9, &NowMs);
    std::cerr << NowMs() - start << " ms, " << answer.size() << " bytes: " << request.substr(0, 100) << '\n';
    if (prints) std::cout << answer << '\n';
  }
  return EXIT_SUCCESS;
}
