// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

#include "store/fleet/fleet_store.h"

namespace attune {

/// The digest of the container image that this process runs in: ATTUNE_IMAGE_DIGEST, else the id that Podman writes
/// into `file`. Empty: none is known. Throws invalid_input for a variable that is no line of at most 255 bytes.
std::string container_image(const std::filesystem::path& file = "/run/.containerenv");

/// Says that a session was begun in another image than this one; empty: it was not, or it names none. A sentence
/// without a full stop.
std::string image_difference(const FleetSession& session, const std::string& image);

}  // namespace attune
