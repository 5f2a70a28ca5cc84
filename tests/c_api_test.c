/* The C interface as a C program sees it: c_api_test MODEL, a folder with a tiny model that has a
 * token for each byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tonnage/c.h"

static int failures = 0;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                              \
    }                                                                          \
  } while (0)

static tonnage_error new_error(void) {
  tonnage_error error;
  memset(&error, 0x55, sizeof(error));
  error.size = sizeof(error);
  return error;
}

/* What callbacks are given. */
typedef struct heard {
  char text[4096];
  size_t length;
  int calls;
  int stop_after; /* calls; 0: never */
} heard;

static int hear(void* user, const char* text, size_t length) {
  heard* h = user;
  if (h->length + length < sizeof(h->text)) {
    memcpy(h->text + h->length, text, length);
    h->length += length;
  }
  ++h->calls;
  return h->stop_after != 0 && h->calls >= h->stop_after;
}

static int see_progress(void* user, int64_t done, int64_t total) {
  int64_t* seen = user;
  EXPECT(done <= total);
  seen[0] = done;
  seen[1] = total;
  return 0;
}

static int stop_at_once(void* user, int64_t done, int64_t total) {
  (void)user, (void)done, (void)total;
  return 1;
}

static void test_loads_are_refused_with_a_reason(const char* folder) {
  tonnage_error error = new_error();
  tonnage_model* model = (tonnage_model*)&error;
  tonnage_model_options options = {.size = sizeof(options), .threads = 2, .memory_limit = "100K"};
  EXPECT(tonnage_model_load(folder, &options, &model, &error) == TONNAGE_REFUSED);
  EXPECT(model == NULL);
  EXPECT(error.code == TONNAGE_REFUSED);
  EXPECT(strstr(error.message, "100.0 KiB allowed by memory_limit") != NULL);
  options.memory_limit = NULL;
  options.buffer_limit = "3";
  EXPECT(tonnage_model_load(folder, &options, &model, &error) == TONNAGE_REFUSED);
  EXPECT(strstr(error.message, "buffers needed, 3 allowed by buffer_limit") != NULL);
  options.buffer_limit = "lots";
  EXPECT(tonnage_model_load(folder, &options, &model, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "buffer_limit: `lots`") != NULL);
  options.buffer_limit = NULL;
  options.threads = -1;
  EXPECT(tonnage_model_load(folder, &options, &model, &error) == TONNAGE_INVALID_ARGUMENT);
  options.threads = 2;
  options.progress = stop_at_once;
  EXPECT(tonnage_model_load(folder, &options, &model, &error) == TONNAGE_CANCELLED);
  EXPECT(tonnage_model_load("no/such/model", NULL, &model, &error) == TONNAGE_UNREADABLE);
  EXPECT(tonnage_model_load("no/such/model", NULL, &model, NULL) == TONNAGE_UNREADABLE);
  EXPECT(tonnage_model_load(NULL, NULL, &model, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_model_load(folder, NULL, NULL, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(model == NULL);
  tonnage_model_free(NULL);
}

typedef struct plans {
  int rows;
  tonnage_plan_row last;
  char refusal[256];
} plans;

static int see_plan(void* user, const tonnage_plan_row* row, const char* refusal) {
  plans* p = user;
  EXPECT(row->size == sizeof(*row));
  ++p->rows;
  p->last = *row;
  strncpy(p->refusal, refusal, sizeof(p->refusal) - 1);
  return 0;
}

static void test_a_load_is_weighed(const char* folder) {
  tonnage_error error = new_error();
  plans seen = {0};
  tonnage_model_options options = {.size = sizeof(options), .context_tokens = 64, .threads = 2};
  EXPECT(tonnage_plan(folder, &options, see_plan, &seen, &error) == TONNAGE_OK);
  EXPECT(seen.rows == 1 && seen.last.context_tokens == 64 && seen.last.fits == 1);
  EXPECT(seen.refusal[0] == '\0');
  EXPECT(seen.last.total_bytes >= seen.last.weights_bytes + seen.last.runtime_bytes);
  EXPECT(seen.last.buffers > 4 && seen.last.buffers <= seen.last.available_buffers);
  options.memory_limit = "100K";
  EXPECT(tonnage_plan(folder, &options, see_plan, &seen, &error) == TONNAGE_OK);
  EXPECT(seen.rows == 2 && seen.last.fits == 0 && seen.last.available_bytes == 100 * 1024);
  EXPECT(strstr(seen.refusal, "allowed by memory_limit") != NULL);
  EXPECT(tonnage_plan(folder, &options, NULL, NULL, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_plan(NULL, NULL, see_plan, &seen, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_plan("no/such/model", NULL, see_plan, &seen, &error) == TONNAGE_UNREADABLE);
  EXPECT(seen.rows == 2);
}

static void test_wrong_sizes_are_refused(const char* folder) {
  const size_t wrong[] = {0, 1, 8, 20, sizeof(tonnage_model_options) + 8, (size_t)-8};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); ++i) {
    tonnage_error error = new_error();
    tonnage_model* model = NULL;
    tonnage_model_options options = {.size = wrong[i]};
    EXPECT(tonnage_model_load(folder, &options, &model, &error) == TONNAGE_INVALID_ARGUMENT);
    EXPECT(strstr(error.message, "tonnage_model_options: the size is ") != NULL);
    EXPECT(model == NULL);
  }
  /* An error that cannot be filled is not touched. */
  tonnage_error error = new_error();
  error.size = 4;
  error.code = 77;
  tonnage_model* model = NULL;
  EXPECT(tonnage_model_load(folder, NULL, &model, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(error.code == 77);
}

/* A program whose options end before the limit on buffers, and whose error has less room. */
static void test_an_older_program_works(const char* folder) {
  tonnage_error error = new_error();
  tonnage_model* model = NULL;
  tonnage_model_options options = {.size = offsetof(tonnage_model_options, buffer_limit),
                                   .threads = 2,
                                   .buffer_limit = "not a field of its version"};
  EXPECT(tonnage_model_load(folder, &options, &model, &error) == TONNAGE_OK);
  EXPECT(error.code == TONNAGE_OK);
  EXPECT(error.message[0] == '\0');
  tonnage_memory memory;
  memset(&memory, 0x55, sizeof(memory));
  memory.size = offsetof(tonnage_memory, live_buffers);
  EXPECT(tonnage_model_memory(model, &memory, &error) == TONNAGE_OK);
  EXPECT(memory.size == offsetof(tonnage_memory, live_buffers));
  EXPECT(memory.held_bytes > 0);
  EXPECT(memory.live_buffers == 0x5555555555555555); /* no field of its version */
  tonnage_model_free(model);

  tonnage_answer_options answers;
  memset(&answers, 0x55, sizeof(answers));
  const size_t older = offsetof(tonnage_answer_options, stop);
  EXPECT(tonnage_answer_options_init(&answers, older) == TONNAGE_OK);
  EXPECT(answers.size == older && answers.repetition_penalty == 1);
  EXPECT(answers.stop_count == 0x5555555555555555); /* no field of its version */
  EXPECT(tonnage_answer_options_init(&answers, 13) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_answer_options_init(NULL, sizeof(answers)) == TONNAGE_INVALID_ARGUMENT);

  const size_t small = offsetof(tonnage_error, message) + 16;
  error = new_error();
  error.size = small;
  EXPECT(tonnage_model_load("no/such/model", NULL, &model, &error) == TONNAGE_UNREADABLE);
  EXPECT(error.code == TONNAGE_UNREADABLE);
  EXPECT(strlen(error.message) == 15);
  EXPECT(error.message[16] == 0x55);
}

static void test_answers_and_streams(const tonnage_model* model) {
  tonnage_error error = new_error();
  tonnage_answer_options options;
  EXPECT(tonnage_answer_options_init(&options, sizeof(options)) == TONNAGE_OK);
  EXPECT(options.size == sizeof(options) && options.temperature == 0.7 && options.stop == NULL);
  options.max_tokens = 30;
  options.has_seed = 1;
  options.seed = 5;
  const tonnage_message messages[] = {
      {.size = sizeof(tonnage_message), .role = "user", .content = "Hello"}};
  heard first = {{0}, 0, 0, 0}, second = {{0}, 0, 0, 0};
  tonnage_answer answer = {.size = sizeof(answer)};
  EXPECT(tonnage_chat(model, messages, 1, &options, hear, &first, &answer, &error) == TONNAGE_OK);
  EXPECT(answer.prompt_tokens == 23); /* "<s>", "user: Hello\n", "assistant:" */
  EXPECT(answer.generated_tokens > 0 && answer.generated_tokens <= 30);
  EXPECT(first.length > 0);
  EXPECT(tonnage_chat(model, messages, 1, &options, hear, &second, NULL, NULL) == TONNAGE_OK);
  EXPECT(first.length == second.length && memcmp(first.text, second.text, first.length) == 0);

  heard stopped = {{0}, 0, 0, 1};
  options.max_tokens = 400;
  EXPECT(tonnage_generate(model, "Once", &options, hear, &stopped, &answer, &error) == TONNAGE_OK);
  EXPECT(answer.finish == TONNAGE_FINISH_CANCELLED);
  EXPECT(answer.generated_tokens < 100);
  options.max_tokens = 3;
  EXPECT(tonnage_generate(model, "Once", &options, NULL, NULL, &answer, NULL) == TONNAGE_OK);
  EXPECT(answer.finish == TONNAGE_FINISH_LENGTH && answer.generated_tokens == 3);

  char long_prompt[601];
  memset(long_prompt, 'x', 600);
  long_prompt[600] = '\0';
  EXPECT(tonnage_generate(model, long_prompt, NULL, NULL, NULL, NULL, &error) == TONNAGE_TOO_LONG);
  EXPECT(strstr(error.message, "600 tokens, but the context is 512") != NULL);
  options.size = 12;
  EXPECT(tonnage_generate(model, "x", &options, NULL, NULL, NULL, &error) ==
         TONNAGE_INVALID_ARGUMENT);
  answer.size = sizeof(answer) + 8;
  EXPECT(tonnage_generate(model, "x", NULL, NULL, NULL, &answer, &error) ==
         TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_chat(model, NULL, 1, NULL, NULL, NULL, NULL, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_chat(NULL, messages, 1, NULL, NULL, NULL, NULL, &error) ==
         TONNAGE_INVALID_ARGUMENT);
}

static void test_tokens_there_and_back(const tonnage_model* model) {
  tonnage_error error = new_error();
  int32_t tokens[8];
  char text[8];
  size_t count = 99;
  memset(tokens, 0x55, sizeof(tokens));
  EXPECT(tonnage_tokenize(model, "h\xC3\xA9", 3, 0, NULL, 0, &count, &error) == TONNAGE_OK);
  EXPECT(count == 3);
  EXPECT(tonnage_tokenize(model, "h\xC3\xA9", 3, 0, tokens, 2, &count, &error) == TONNAGE_OK);
  EXPECT(count == 3 && tokens[2] == 0x55555555);
  EXPECT(tonnage_tokenize(model, "h\xC3\xA9", 3, 0, tokens, 8, &count, &error) == TONNAGE_OK);
  EXPECT(tonnage_detokenize(model, tokens, count, 0, text, sizeof(text), &count, &error) ==
         TONNAGE_OK);
  EXPECT(count == 3 && memcmp(text, "h\xC3\xA9", 3) == 0);
  EXPECT(tonnage_tokenize(model, NULL, 3, 0, tokens, 8, &count, &error) ==
         TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_tokenize(model, "h", 1, 0, NULL, 8, &count, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_tokenize(model, "h", 1, 0, tokens, 8, NULL, &error) == TONNAGE_INVALID_ARGUMENT);
}

static void test_memory_is_told(const tonnage_model* model) {
  tonnage_error error = new_error();
  tonnage_memory m = {.size = sizeof(m)};
  EXPECT(tonnage_model_memory(model, &m, &error) == TONNAGE_OK);
  EXPECT(m.held_bytes == m.weights_bytes + m.kv_bytes + m.state_bytes + m.arena_bytes +
                             m.workspace_bytes + m.staging_bytes + m.prefix_cache_bytes +
                             m.runtime_bytes);
  EXPECT(m.weights_bytes > 0 && m.kv_bytes > 0 && m.arena_bytes > 0 && m.runtime_bytes > 0);
  EXPECT(m.staging_bytes == 0);
  EXPECT(m.held_bytes == m.live_bytes && m.cached_bytes == 0 && m.cached_buffers == 0);
  EXPECT(m.peak_bytes >= m.held_bytes && m.limit_bytes >= m.peak_bytes);
  EXPECT(m.live_buffers > 4 && m.peak_buffers >= m.live_buffers);
  EXPECT(m.limit_buffers == 1000);
  tonnage_model_info info = {.size = sizeof(info)};
  EXPECT(tonnage_model_describe(model, &info, &error) == TONNAGE_OK);
  EXPECT(info.context_tokens == 512 && info.vocabulary == 256);
  m.size = 3;
  EXPECT(tonnage_model_memory(model, &m, &error) == TONNAGE_INVALID_ARGUMENT);
  EXPECT(tonnage_model_memory(model, NULL, &error) == TONNAGE_INVALID_ARGUMENT);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  EXPECT(tonnage_abi_version() == TONNAGE_ABI_VERSION);
  test_loads_are_refused_with_a_reason(argv[1]);
  test_a_load_is_weighed(argv[1]);
  test_wrong_sizes_are_refused(argv[1]);
  test_an_older_program_works(argv[1]);

  int64_t seen[2] = {0, 0};
  tonnage_error error = new_error();
  tonnage_model* model = NULL;
  const tonnage_model_options options = {.size = sizeof(options),
                                         .threads = 2,
                                         .progress = see_progress,
                                         .progress_user = seen,
                                         .buffer_limit = "1000"};
  if (tonnage_model_load(argv[1], &options, &model, &error) != TONNAGE_OK) {
    fprintf(stderr, "the model was not loaded: %s\n", error.message);
    return 1;
  }
  EXPECT(seen[1] > 0 && seen[0] == seen[1]);
  test_memory_is_told(model);
  test_answers_and_streams(model);
  test_tokens_there_and_back(model);
  tonnage_model_free(model);
  return failures == 0 ? 0 : 1;
}
