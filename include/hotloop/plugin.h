/* The C interface of a plug-in: environments that hotloop loads from a shared library at run time.
 *
 * A one-file environment in C++ needs none of this: <hotloop/env.hpp> and HOTLOOP_ENV are enough,
 * and `hotloop train world.cpp` builds the plug-in. This header is for environments in C, Rust or
 * any other language that can export a C function. A library exports exactly one symbol,
 *
 *   const hotloop_plugin* hotloop_plugin_v1(void);
 *
 * The table it returns must live as long as the library, which is never unloaded. To train on it:
 * `hotloop train ./libworld.so`. No exception may leave a function. Functions that return int
 * return 0 for success; after any other number, error() gives the reason in one sentence.
 *
 * create() makes one object that holds N worlds, rows 0 to N - 1. Functions that take [begin, end)
 * work on these rows; their arrays cover all N. Different threads may work on different rows at the
 * same time, but never on the same row. A row must depend only on its own state, its action and the
 * random numbers of its stream: that makes runs repeatable.
 */
#ifndef HOTLOOP_PLUGIN_H
#define HOTLOOP_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define HOTLOOP_PLUGIN_VERSION 1
#define HOTLOOP_PLUGIN_SYMBOL "hotloop_plugin_v1"
#define HOTLOOP_INVALID_STATE 2 /* returned by restore_row */

#ifdef __cplusplus
extern "C" {
#endif

/* A random stream is a pure function of the first four numbers; `draws` counts the 32-bit words
 * drawn from it. hotloop_random() below draws the next one. */
typedef struct hotloop_stream {
  uint64_t seed;
  uint64_t step;
  uint32_t purpose;
  uint32_t lane; /* the row */
  uint32_t draws;
} hotloop_stream;

/* A named part of the observation row; unused dimensions are 0. */
typedef struct hotloop_part {
  const char* name;
  int32_t shape[3];
} hotloop_part;

typedef struct hotloop_step_call {
  int32_t begin, end;     /* rows to step */
  const int32_t* numbers; /* [N] if the actions are discrete, else NULL */
  const float* boxes;     /* [N, action_size] if they are continuous, else NULL */
  uint64_t seed, step;    /* row i draws from the stream {seed, step, purpose, i, 0} */
  uint32_t purpose;
  float* rewards;      /* [N], to be written */
  uint8_t* terminated; /* [N], to be written: 1 if the world ended, except by the time limit */
  int32_t failed_row;  /* to be written if the call fails; -1 = unknown */
} hotloop_step_call;

typedef struct hotloop_world {
  const char* name;
  const char* about; /* one line, or NULL */
  int32_t obs;       /* floats in an observation row */
  int32_t actions;   /* number of discrete actions; 0 = an action is action_size floats, 1 to 64 */
  int32_t action_size;
  const float* action_low; /* [action_size]; arrays of length 0 may be NULL */
  const float* action_high;
  int32_t max_steps;    /* time limit; 0 = none */
  double solved_return; /* mean return that counts as solved; NaN = no accepted value */
  int32_t part_count;   /* up to 8; if any, their sizes add up to obs */
  const hotloop_part* parts;
  int32_t measure_count; /* up to 24 */
  const char* const* measures;
  int32_t reward_part_count; /* up to 8 */
  const char* const* reward_parts;

  /* `plain` = 1 asks for the obvious, slow implementation, to compare with. Ignore it if there is
   * only one implementation. */
  int (*create)(int32_t count, int32_t plain, void** worlds);
  void (*destroy)(void* worlds);
  int (*clear)(void* worlds); /* every row as it was when created */
  int (*reset)(void* worlds, int32_t row, hotloop_stream* stream);
  int (*step)(void* worlds, hotloop_step_call* call);
  int (*observe)(const void* worlds, int32_t begin, int32_t end, float* obs); /* [N, obs] */
  /* NULL if every action is always allowed. allowed [N, actions]: 1 or 0 */
  int (*mask)(const void* worlds, int32_t begin, int32_t end, uint8_t* allowed);
  int (*measure)(const void* worlds, int32_t row, float* values); /* NULL if measure_count is 0 */
  /* of the latest step, [N, reward_part_count]; NULL if there are none */
  int (*parts_of_reward)(const void* worlds, int32_t begin, int32_t end, float* parts);
  /* NULL if there is no picture. Called twice in a row by one thread: with rgb NULL, to ask for width
   * and height, and then with rgb [height, width, 3] of that size, to be written. */
  int (*picture)(const void* worlds, int32_t row, int32_t* width, int32_t* height, uint8_t* rgb);
  /* The state of a row as row_bytes bytes, to save, copy and restore it. The bytes may come from a
   * file that somebody else made: restore_row returns HOTLOOP_INVALID_STATE for bytes that it could
   * not continue from. */
  size_t row_bytes;
  int (*save_row)(const void* worlds, int32_t row, void* to);
  int (*restore_row)(void* worlds, int32_t row, const void* from);
  /* 1 if restore_row checks the bytes; 0, also in older plug-ins: it believes them. */
  int32_t checks_state;
} hotloop_world;

typedef struct hotloop_plugin {
  uint32_t version; /* HOTLOOP_PLUGIN_VERSION */
  uint32_t
      world_size; /* sizeof(hotloop_world). New members are appended, and 0 in older plug-ins */
  int32_t world_count;
  const hotloop_world* worlds;
  const char* (*error)(void); /* why the latest call in this thread failed */
} hotloop_plugin;

typedef const hotloop_plugin* (*hotloop_plugin_function)(void);

/* 32 uniform bits: Philox 4x32-10 (Salmon et al., 2011), as hotloop's own environments use. */
static inline uint32_t hotloop_random(hotloop_stream* stream) {
  uint32_t counter[4], key[2];
  int round;
  counter[0] = (stream->purpose << 24) + stream->draws / 4;
  counter[1] = stream->lane;
  counter[2] = (uint32_t)stream->step;
  counter[3] = (uint32_t)(stream->step >> 32);
  key[0] = (uint32_t)stream->seed;
  key[1] = (uint32_t)(stream->seed >> 32);
  for (round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)0xD2511F53u * counter[0];
    const uint64_t b = (uint64_t)0xCD9E8D57u * counter[2];
    counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ key[0];
    counter[1] = (uint32_t)b;
    counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ key[1];
    counter[3] = (uint32_t)a;
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter[stream->draws++ % 4];
}

#ifdef __cplusplus
}
#endif

#endif
