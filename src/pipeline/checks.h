// SPDX-License-Identifier: MIT
#pragma once
#include "pipeline/table_input.h"

/// The checks of tables. Each reads a table and reports its findings. None runs a kernel, opens a library or depends on
/// another check. Each has a file of its own, unless it shares its reading.
namespace attune {

/// Columns of the family that a file lacks, at its first line.
void check_headers(const TableStream& table, FindingList& findings);

/// Rows that can be read but are torn.
void check_readable(const TableInput& input, FindingList& findings);
/// Cells of results that a row lacks.
void check_cells(const TableInput& input, FindingList& findings);
/// Rows with the key, device, layout, requirement and model of an earlier row of their file. Rows with a `_tag` are
/// alternatives, no duplicates.
void check_duplicates(const TableInput& input, FindingList& findings);
/// Times that are zero, negative, not finite or no number; times outside of 10 ns to 10 minutes, which no launch can
/// take; and times below the roofline of a device of the rules.
void check_times(const TableInput& input, FindingList& findings);
/// Cells `tflops` and `bw` that do not follow from the shape and the time, by more than the rounding of the cells.
void check_rates(const TableInput& input, FindingList& findings);
/// Shares of wrong elements above the threshold, of the row and of its parts.
void check_errors(const TableInput& input, FindingList& findings);
/// Kernels with the name of a solver's candidate that this build does not have. Kernels of other tools are not judged.
void check_kernels(const TableInput& input, FindingList& findings);
/// Rows that no lookup takes, for another reason than a time or an earlier row with its key in the same file.
void check_reach(const TableInput& input, FindingList& findings);
/// Rows that are slower than the row which a problem of their shape would get by padding if they were not there.
void check_padding(const TableInput& input, FindingList& findings);

}  // namespace attune
