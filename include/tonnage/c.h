/* Tonnage for C, and for every language that can call C: load a language model, ask it, and see
 * what it holds. The same promises as tonnage.h: what does not fit is refused with the numbers
 * before a byte is taken. No exception crosses this interface. A model may be used by
 * any number of threads at once. Strings are UTF-8 and borrowed for the call only, in both
 * directions.
 *
 * Every struct begins with its size, which the caller sets to sizeof, and grows only at its end, by
 * fields of 8 bytes. A program that was compiled against an older header so passes a smaller
 * struct, which works: what it lacks has its default, or is not written. A size that no version has
 * is refused. */
#ifndef TONNAGE_C_H
#define TONNAGE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TONNAGE_ABI_VERSION 1
/* Of the library; a change of meaning, which no struct's size would tell, raises it. */
int64_t tonnage_abi_version(void);

/* What every call returns: TONNAGE_OK, or why it did not do what it was asked for. */
enum {
  TONNAGE_OK = 0,
  TONNAGE_INVALID_ARGUMENT = 1, /* an option or a request that can never be met; a wrong size */
  TONNAGE_TOO_LONG = 2,         /* prompt and answer exceed the context */
  TONNAGE_UNREADABLE = 3,       /* a file is missing, cut short or malformed */
  TONNAGE_UNSUPPORTED = 4,      /* well formed, but asks for something that is not there */
  TONNAGE_REFUSED = 5,          /* does not fit the memory */
  TONNAGE_BUSY = 6,             /* too many requests wait already */
  TONNAGE_UNAVAILABLE = 7,      /* the device or the deadline */
  TONNAGE_CANCELLED = 8,        /* a callback asked to stop */
  TONNAGE_INTERNAL = 9
};

/* Filled where a call fails; may be NULL wherever it is asked for. */
typedef struct tonnage_error {
  size_t size;
  int64_t code;
  char message[1008]; /* what is wrong and what to do; ends with 0, cut short where it is longer */
} tonnage_error;

typedef struct tonnage_model tonnage_model;

/* Progress of a load, in bytes. Not 0: stop. */
typedef int (*tonnage_progress)(void* user, int64_t done, int64_t total);
/* The next part of an answer, which does not end with 0. Not 0: stop. */
typedef int (*tonnage_text)(void* user, const char* text, size_t length);

/* All fields but the size may be 0, which is their default. */
typedef struct tonnage_model_options {
  size_t size;
  int64_t context_tokens;   /* 0: the model's own limit, at most 8192 */
  int64_t slots;            /* requests that run at a time; 0: 1 */
  int64_t exact;            /* not 0: float32 activations, at the price of speed */
  int64_t threads;          /* 0: one a usable core */
  const char* memory_limit; /* "8G": lowers what the system allows */
  const char* store;        /* where models are looked for by name; NULL: paths only */
  tonnage_progress progress;
  void* progress_user;
  const char* buffer_limit; /* "1000": lowers how many buffers may be held */
} tonnage_model_options;

/* `model` is a folder, a .safetensors file, a GGUF file, or a name in the store. `options` may be
 * NULL. Sets *loaded to NULL where it fails. */
int64_t tonnage_model_load(const char* model, const tonnage_model_options* options,
                           tonnage_model** loaded, tonnage_error* error);
/* NULL does nothing. No call may be under way. */
void tonnage_model_free(tonnage_model* model);

/* What a load would hold with one context. The size is the library's: read what your header has. */
typedef struct tonnage_plan_row {
  size_t size;
  int64_t context_tokens;
  int64_t weights_bytes;
  int64_t kv_bytes;
  int64_t arena_bytes;
  int64_t workspace_bytes;
  int64_t staging_bytes;
  int64_t runtime_bytes;
  int64_t total_bytes; /* at the worst moment */
  int64_t available_bytes;
  int64_t buffers;
  int64_t available_buffers;
  int64_t fits; /* not 0: it would be loaded */
} tonnage_plan_row;
/* `refusal` says why it does not fit and what would; empty where it fits. Not 0: no more rows. */
typedef int (*tonnage_plan_visitor)(void* user, const tonnage_plan_row* row, const char* refusal);
/* Weighs a load without reading a byte of weights: a row for the context that the options ask for,
 * or, where they ask for none, one for 8192 tokens, twice that, and so on to the model's limit. */
int64_t tonnage_plan(const char* model, const tonnage_model_options* options,
                     tonnage_plan_visitor visit, void* user, tonnage_error* error);

typedef struct tonnage_answer_options {
  size_t size;
  int64_t max_tokens;        /* 0: what the context leaves */
  double temperature;        /* 0.7; 0 always takes the likeliest token */
  int64_t top_k;             /* 0: off */
  double top_p;              /* 0.9; 1: off */
  double min_p;              /* 0: off */
  double repetition_penalty; /* 1: off */
  int64_t has_seed;          /* 0: another answer each time */
  uint64_t seed;
  const char* const* stop; /* the answer ends before any of these; NULL: none */
  size_t stop_count;
} tonnage_answer_options;
/* Sets the size, which is sizeof(*options), and the defaults that are given above. */
int64_t tonnage_answer_options_init(tonnage_answer_options* options, size_t size);

enum { TONNAGE_FINISH_STOP = 0, TONNAGE_FINISH_LENGTH = 1, TONNAGE_FINISH_CANCELLED = 2 };

typedef struct tonnage_answer {
  size_t size;
  int64_t finish; /* TONNAGE_FINISH_... */
  int64_t prompt_tokens;
  int64_t generated_tokens;
  double prompt_tokens_per_second;
  double generated_tokens_per_second;
} tonnage_answer;

typedef struct tonnage_message {
  size_t size;
  const char* role; /* "system", "user" or "assistant" */
  const char* content;
} tonnage_message;

/* Answers a conversation of `count` messages that stand one after the other, or continues a text.
 * Both return when the answer is complete; its parts go to `text`, which may be NULL, as they come.
 * `options` and `answer` may be NULL. */
int64_t tonnage_chat(const tonnage_model* model, const tonnage_message* messages, size_t count,
                     const tonnage_answer_options* options, tonnage_text text, void* user,
                     tonnage_answer* answer, tonnage_error* error);
int64_t tonnage_generate(const tonnage_model* model, const char* prompt,
                         const tonnage_answer_options* options, tonnage_text text, void* user,
                         tonnage_answer* answer, tonnage_error* error);

/* Text to tokens and back. At most `capacity` of them are written; *count is set to how many there
 * are, so that a call with capacity 0 tells how many there will be. With `special` not 0, what the
 * model's files add to a text is added, and special tokens are shown in the text. */
int64_t tonnage_tokenize(const tonnage_model* model, const char* text, size_t length, int special,
                         int32_t* tokens, size_t capacity, size_t* count, tonnage_error* error);
int64_t tonnage_detokenize(const tonnage_model* model, const int32_t* tokens, size_t token_count,
                           int special, char* text, size_t capacity, size_t* count,
                           tonnage_error* error);

/* What the model holds, and what it may. */
typedef struct tonnage_memory {
  size_t size;
  int64_t held_bytes; /* the sum of the ledger's lines below */
  int64_t peak_bytes; /* the most that it was */
  int64_t limit_bytes;
  int64_t live_buffers;
  int64_t cached_buffers; /* freed ones that are kept for reuse */
  int64_t peak_buffers;
  int64_t limit_buffers;
  int64_t live_bytes;
  int64_t cached_bytes;
  int64_t weights_bytes;
  int64_t kv_bytes;
  int64_t state_bytes;
  int64_t arena_bytes;
  int64_t workspace_bytes;
  int64_t staging_bytes;
  int64_t prefix_cache_bytes;
  int64_t runtime_bytes;
} tonnage_memory;
int64_t tonnage_model_memory(const tonnage_model* model, tonnage_memory* memory,
                             tonnage_error* error);

typedef struct tonnage_model_info {
  size_t size;
  int64_t context_tokens;
  int64_t vocabulary;
} tonnage_model_info;
int64_t tonnage_model_describe(const tonnage_model* model, tonnage_model_info* info,
                               tonnage_error* error);

#ifdef __cplusplus
}
#endif

#endif
