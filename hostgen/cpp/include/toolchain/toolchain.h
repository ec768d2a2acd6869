// Everything that a generated program needs.
#pragma once

#include "toolchain/host_calls.h"
#include "toolchain/hostops.h"
#include "toolchain/own.h"
#include "toolchain/session.h"
