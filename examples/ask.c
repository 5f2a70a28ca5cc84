/* One question, one answer, and what the model took: ask MODEL QUESTION */
#include <stdio.h>

#include "tonnage/c.h"

static int print(void* user, const char* text, size_t length) {
  (void)user;
  fwrite(text, 1, length, stdout);
  fflush(stdout);
  return 0; /* go on */
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  tonnage_error error = {.size = sizeof(error)};
  tonnage_model* model = NULL;
  if (tonnage_model_load(argv[1], NULL, &model, &error) != TONNAGE_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const tonnage_message question = {.size = sizeof(question), .role = "user", .content = argv[2]};
  tonnage_answer answer = {.size = sizeof(answer)};
  tonnage_memory memory = {.size = sizeof(memory)};
  int64_t code = tonnage_chat(model, &question, 1, NULL, print, NULL, &answer, &error);
  if (code == TONNAGE_OK) code = tonnage_model_memory(model, &memory, &error);
  if (code == TONNAGE_OK) {
    printf("\n[%lld tokens, %lld bytes in %lld buffers]\n", (long long)answer.generated_tokens,
           (long long)memory.held_bytes, (long long)memory.live_buffers);
  } else {
    fprintf(stderr, "%s\n", error.message);
  }
  tonnage_model_free(model);
  return code == TONNAGE_OK ? 0 : 1;
}
