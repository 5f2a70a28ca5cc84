# Installs the library to an empty prefix, builds the examples against it with find_package, and holds a short chat:
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCOMPILER=... -P install_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${code}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component library)
run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${WORK}/examples -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/examples)

file(COPY ${SOURCE}/tests/golden/models/llama/config.json ${SOURCE}/tests/golden/models/llama/model.safetensors
          ${SOURCE}/tests/golden/tiny_chat/ DESTINATION ${WORK}/model)
file(WRITE ${WORK}/questions "Hello\n")
execute_process(COMMAND ${WORK}/examples/chat ${WORK}/model INPUT_FILE ${WORK}/questions
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT code EQUAL 0 OR NOT output MATCHES "^> .*\n\\[[0-9]+ tokens\\]\n> $")
  message(FATAL_ERROR "the example ended with ${code}:\n${output}\n${errors}")
endif()

execute_process(COMMAND ${WORK}/examples/ask ${WORK}/model Hello RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT code EQUAL 0 OR NOT output MATCHES "\\[[0-9]+ tokens, [0-9]+ bytes in [0-9]+ buffers\\]\n$")
  message(FATAL_ERROR "the C example ended with ${code}:\n${output}\n${errors}")
endif()
