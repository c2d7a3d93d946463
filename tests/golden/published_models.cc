#include "tests/golden/published_models.h"

#include <cstdlib>
#include <iostream>

#include "core/codec/catalog.h"
#include "tests/support/files.h"

namespace tunefit::test {

const Architecture& PublishedModel(const std::string& id) {
  static Issues issues;
  static const Catalog catalog = ReadCatalog(ReadFile(TUNEFIT_CATALOG), issues);
  const CatalogModel* model = catalog.FindModel(id);
  if (model == nullptr) {
    std::cerr << "The catalog has no model " << id << "\n";
    std::abort();
  }
  return model->architecture;
}

}  // namespace tunefit::test
