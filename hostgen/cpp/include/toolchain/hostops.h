// All host operations: namespace toolchain::ops. The same table as Python's `runtime_py.hostops`, with the same names.
#pragma once

#include "toolchain/hostops_format.h"
#include "toolchain/hostops_list.h"
#include "toolchain/hostops_math.h"
#include "toolchain/hostops_number.h"
#include "toolchain/hostops_tensor.h"
#include "toolchain/hostops_text.h"
