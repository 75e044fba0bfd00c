// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/descriptor.h"
#include "server/http/listen_address.h"

namespace attune {

/// A socket on which clients can connect from now on. Throws io, with the reason, when the address cannot be had. It
/// shares its port with no other program.
Descriptor listening_socket(const ListenAddress& address);

/// The port of a socket that listens.
uint16_t port_of(const Descriptor& listening) noexcept;

}  // namespace attune
