// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "formats/csv/csv_document.h"
#include "ops/family.h"
#include "pipeline/finding.h"

namespace attune {

/// The tables of one family, in the order in which the run time takes them; at least one. Table::of() reads them.
struct FamilyFiles {
  const FamilySpec* family = nullptr;
  std::vector<CsvDocument> documents;
};

/// The tables among some files and folders.
struct TableFiles {
  std::vector<FamilyFiles> families;   ///< In the order in which their files were found.
  std::vector<TableFinding> findings;  ///< Files that cannot be read as a table, and those without a column of the key.
  std::vector<std::string> skipped;    ///< Sentences about tables of unknown families.
  size_t num_files = 0;                ///< Files that are tables of a family, the wrong ones included.
  size_t num_lists = 0;                ///< Lists of shapes, which are not read.
};

/// Reads the tables that are named: a file, or a folder of tables, as a configuration folder is: the `.csv` files of
/// its `model_configs`, then its own, each in the order of their names. `family`: of all files; null: family_of_file()
/// decides; a table of no known family is skipped with a sentence. Throws
/// invalid_input for a path that does not exist, when there is no table, and when none of the files can be read.
TableFiles read_table_files(std::span<const std::filesystem::path> named, const FamilySpec* family = nullptr);

}  // namespace attune
