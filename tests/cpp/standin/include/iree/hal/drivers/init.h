// See there.
#pragma once

#include "iree/standin/devices.h"
