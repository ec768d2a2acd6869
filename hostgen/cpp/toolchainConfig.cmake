# The C++ host library: find_package(toolchain) gives the target toolchain::host.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(IREERuntime)
include(${CMAKE_CURRENT_LIST_DIR}/toolchainTargets.cmake)
