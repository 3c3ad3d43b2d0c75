#pragma once

#include <cstdint>

#include "minikv/types.h"

namespace minikv {

// CRC-32 with the reflected polynomial 0xedb88320.
uint32_t Crc32(Slice data);

}  // namespace minikv
