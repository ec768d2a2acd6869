// Compiled without exceptions and run-time types, with more warnings than usual.
#include "toolchain/npy.h"
#include "toolchain/toolchain.h"

// Templates are only checked where they are used.
template class toolchain::Result<toolchain::Tensor>;
template class toolchain::Span<int64_t>;
template toolchain::Result<std::vector<bool>> toolchain::Tensor::to_vector<bool>() const;
template toolchain::Result<std::string> toolchain::ops::field<double>(const double&, char, const std::string&);
template toolchain::Result<double> toolchain::ops::pow_<double>(int64_t, int64_t);
template toolchain::Result<int64_t> toolchain::ops::floordiv(int64_t, bool);
template toolchain::Result<toolchain::List<toolchain::List<double>>> toolchain::ops::tensor_list(const toolchain::Tensor&);
template toolchain::Result<toolchain::Tensor> toolchain::ops::full(const toolchain::Device&, double, toolchain::DType,
                                                                   const toolchain::Dims&);
