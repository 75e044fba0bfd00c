# SPDX-License-Identifier: MIT
# Its loops must be bound by the memory in every build: too low a bandwidth makes good kernels look implausible.
set_source_files_properties(host/read_bandwidth.cpp PROPERTIES COMPILE_OPTIONS "-O3;-fno-profile-arcs;-fno-test-coverage" SKIP_UNITY_BUILD_INCLUSION ON)
