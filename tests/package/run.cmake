# Installs BUILD into its own prefix, then configures, builds and runs the consumer against it.
# Called by CTest with -D BUILD, SOURCE, WORK, COMPILER, FLAGS and TYPE.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
# Everything must come from the prefix, never from the build tree.
set(step COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} OUTPUT_QUIET ${step})
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/build
                        -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${COMPILER}
                        -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_BUILD_TYPE=${TYPE} ${step})
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build ${step})
execute_process(COMMAND ${WORK}/build/consumer WORKING_DIRECTORY ${WORK} ${step})

# The installed program finds its own specs from any folder.
execute_process(COMMAND ${prefix}/bin/hotloop list specs OUTPUT_VARIABLE specs ${step})
if(NOT specs MATCHES "cartpole_dqn ")
  message(FATAL_ERROR "the installed program lists no cartpole_dqn: ${specs}")
endif()
# It compiles worlds, and has settings for them.
file(COPY ${SOURCE}/../../examples/corridor.cpp DESTINATION ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -E env XDG_CACHE_HOME=${WORK}/cache ${prefix}/bin/hotloop
                        train corridor.cpp --steps 2000 --quiet WORKING_DIRECTORY ${WORK} ${step})

file(STRINGS ${WORK}/build/CMakeCache.txt found REGEX "^hotloop_DIR:")
if(NOT found MATCHES "=${prefix}/")
  message(FATAL_ERROR "the consumer used another installation: ${found}")
endif()
foreach(file bin/hotloop share/hotloop/specs/algos include/hotloop/plugin.hpp)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()
