/* A world in plain C that includes only plugin.h: the observation shows a coin, the action guesses
 * its side, and the coin is tossed again. An episode has six guesses. */
#include <hotloop/plugin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef COIN_VERSION
#define COIN_VERSION HOTLOOP_PLUGIN_VERSION
#endif

typedef struct coin {
  int32_t side, guesses;
} coin;

typedef struct coins {
  int32_t count;
  coin rows[];
} coins;

static const char* message = "";
static const char* error(void) { return message; }

static int create(int32_t count, int32_t plain, void** worlds) {
  coins* made = calloc(1, sizeof(coins) + (size_t)count * sizeof(coin));
  (void)plain;
  if (made == NULL) {
    message = "out of memory";
    return 1;
  }
  made->count = count;
  *worlds = made;
  return 0;
}

static int clear(void* worlds) {
  coins* all = worlds;
  memset(all->rows, 0, (size_t)all->count * sizeof(coin));
  return 0;
}

static int reset(void* worlds, int32_t row, hotloop_stream* stream) {
  coin* it = &((coins*)worlds)->rows[row];
  it->side = (int32_t)(hotloop_random(stream) & 1);
  it->guesses = 0;
  return 0;
}

static int step(void* worlds, hotloop_step_call* call) {
  int32_t row;
  for (row = call->begin; row < call->end; ++row) {
    hotloop_stream stream = {call->seed, call->step, call->purpose, (uint32_t)row, 0};
    coin* it = &((coins*)worlds)->rows[row];
    call->rewards[row] = call->numbers[row] == it->side ? 1.0f : 0.0f;
    it->side = (int32_t)(hotloop_random(&stream) & 1);
    call->terminated[row] = ++it->guesses == 6;
  }
  return 0;
}

static int observe(const void* worlds, int32_t begin, int32_t end, float* obs) {
  int32_t row;
  for (row = begin; row < end; ++row) {
    const coin* it = &((const coins*)worlds)->rows[row];
    obs[2 * row] = (float)it->side;
    obs[2 * row + 1] = (float)it->guesses / 6;
  }
  return 0;
}

static int save_row(const void* worlds, int32_t row, void* to) {
  memcpy(to, &((const coins*)worlds)->rows[row], sizeof(coin));
  return 0;
}

static int restore_row(void* worlds, int32_t row, const void* from) {
  memcpy(&((coins*)worlds)->rows[row], from, sizeof(coin));
  return 0;
}

static hotloop_world world = {.name = "coin",
                              .about = "a world in C",
                              .obs = 2,
                              .actions = 2,
                              .solved_return = 6,
                              .create = create,
                              .destroy = free,
                              .clear = clear,
                              .reset = reset,
                              .step = step,
                              .observe = observe,
                              .row_bytes = sizeof(coin),
                              .save_row = save_row,
                              .restore_row = restore_row};
static const hotloop_plugin plugin = {COIN_VERSION, sizeof(hotloop_world), 1, &world, error};

const hotloop_plugin* hotloop_plugin_v1(void) { return &plugin; }
