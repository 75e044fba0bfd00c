// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_key.h"

namespace {

using namespace attune;

void check_find_db(const std::string& content) {
  FindDb db = FindDb::parse_with_defects(content, "fuzz.fdb.txt");
  const std::string text = db.text();
  // Blank lines alone are lost.
  if (content.find("\n\n") == std::string::npos && content.find(' ') == std::string::npos && !content.starts_with('\n'))
    ATTUNE_CHECK(text == content, "a find-db lost bytes");
  ATTUNE_CHECK(FindDb::parse_with_defects(text, "again.fdb.txt").text() == text, "a find-db changed on its way");
  if (!db.defects().empty()) return;
  for (const FindDbRecord& record : db.records()) {
    const FindDbKey key = FindDbKey::parse(record.key);
    ATTUNE_CHECK(FindDbKey::parse(key.text()).text() == key.text(), "a key changed on its way: '{}'", record.key);
    if (const auto problem = problem_of_find_db_key(record.key))
      ATTUNE_CHECK(problem_of_find_db_key(find_db_key_of(*problem)) == problem, "a problem changed: '{}'", record.key);
  }
  db.make_v2();
  db.sort(4);
  FindDb::parse(db.text(), "sorted.fdb.txt");
}

}  // namespace

/// Any bytes are either a find-db that reproduces them, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    check_find_db({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  return 0;
}
