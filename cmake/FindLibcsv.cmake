# SPDX-License-Identifier: MIT
# libcsv 3 ships no .pc file. Gives Libcsv::Libcsv.
find_path(Libcsv_INCLUDE_DIR csv.h)
find_library(Libcsv_LIBRARY csv)
include(AttuneImport)
attune_find_and_import(Libcsv Libcsv::Libcsv)
