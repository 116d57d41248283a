// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_client/meta_command.h"
#include "base/buf.h"
#include "json/write.h"

static const struct command command = {
    .usage = "TOOL_ID [options]",
    .about = "Shows the full definition of a tool, with its schema. Its id is what browse and\n"
             "catalog print; SERVER:NAME is enough where it names one tool.",
    .options = "cmuACWjY",
    .min = 1,
    .max = 1,
    .missing = "give the id of a tool",
};

int cmd_hydrate(int argc, char **argv) {
  struct arguments args = {0};
  struct buf text;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  str id = str_of(args.operands[0]);
  buf_init(&text, id.n * 6 + 64);
  struct json_writer w = json_writer(&text);
  json_begin_object(&w);
  json_member_str(&w, STR("tool_id"), id);
  json_end_object(&w);
  struct meta_command q = {.mode = MODE_TRANSPARENT, .tool = STR("tool_hydrate"), .arguments = buf_view(&text)};
  status = meta_command_run(&args, &q);
  buf_done(&text);
  return status;
}
