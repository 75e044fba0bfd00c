// SPDX-License-Identifier: MIT
#pragma once
#include "pipeline/table_input.h"

/// The checks of tables. Each reads a table and states what it finds; none runs a kernel or opens a library, and none
/// depends on another. Each in a file of its own, but for those that share their reading.
namespace attune {

/// Columns of the family that a file lacks, at its first line.
void check_headers(const TableStream& table, FindingList& findings);

/// Rows that are read, but torn.
void check_readable(const TableInput& input, FindingList& findings);
/// Cells of results that a row lacks.
void check_cells(const TableInput& input, FindingList& findings);
/// Rows with the key, device, layout, requirement and model of an earlier row of their file. Rows with a `_tag` are
/// alternatives, no duplicates.
void check_duplicates(const TableInput& input, FindingList& findings);
/// Times that are zero, negative, not finite or no number; those that no launch can take, from 10 ns to 10 minutes; and
/// those below the roofline of a device of the rules.
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
