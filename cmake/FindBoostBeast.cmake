# SPDX-License-Identifier: MIT
# The headers of Boost.Beast and what they include; nothing is linked. Gives BoostBeast::headers.
find_path(BoostBeast_INCLUDE_DIR boost/beast/http/parser.hpp)
include(FindPackageHandleStandardArgs)
include(AttuneImport)
find_package_handle_standard_args(BoostBeast REQUIRED_VARS BoostBeast_INCLUDE_DIR)
if(BoostBeast_FOUND)
  attune_import(BoostBeast::headers "${BoostBeast_INCLUDE_DIR}")
endif()
