# The stand-in for IREE's package of the same name; see the README.

set(IREE_STANDIN_PYTHON "" CACHE FILEPATH "Python of the environment with the shortfin wheel")

# The wheel has two builds of the library, told apart by a hash; the plain extension module says which one it needs.
execute_process(
  COMMAND ${IREE_STANDIN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/find_library.py
  OUTPUT_VARIABLE _library
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)

add_library(iree_runtime_unified SHARED IMPORTED)
get_filename_component(_include "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
set_target_properties(iree_runtime_unified PROPERTIES
  IMPORTED_LOCATION "${_library}"
  INTERFACE_INCLUDE_DIRECTORIES "${_include}"
  # The library needs others of the wheel at run time only.
  INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")

# Libraries of their own in the genuine package, here in the one above.
add_library(iree_modules_io_parameters_parameters INTERFACE IMPORTED)
add_library(iree_io_parameter_index_provider INTERFACE IMPORTED)
