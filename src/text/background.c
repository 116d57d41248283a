// SPDX-License-Identifier: Apache-2.0
#include "text/background.h"

#include <stdlib.h>

struct row {
  const char *stem;
  unsigned permille;
};

// By stem; counted in the 20 572 different definitions of public MCP servers and web services that are described in
// docs/retrieval.md.
// clang-format off
static const struct row rows[] = {
    {"absolut", 7}, {"ac", 10}, {"accept", 7}, {"access", 28}, {"account", 31}, {"action", 15}, {"activ", 10},
    {"add", 22}, {"addit", 9}, {"address", 35}, {"admin", 7}, {"advanc", 6}, {"ai", 10}, {"allow", 14}, {"amount", 7},
    {"analysi", 11}, {"analyz", 9}, {"api", 115}, {"app", 19}, {"appli", 6}, {"applic", 13}, {"approv", 6},
    {"arg", 39}, {"argument", 6}, {"array", 20}, {"articl", 6}, {"ask", 6}, {"associ", 13}, {"authent", 6},
    {"auto", 8}, {"automat", 7}, {"avail", 44}, {"averag", 6}, {"back", 10}, {"balanc", 7}, {"base", 45},
    {"basic", 7}, {"basketbal", 8}, {"batch", 6}, {"best", 10}, {"block", 6}, {"bodi", 22}, {"branch", 8},
    {"browser", 12}, {"cach", 5}, {"call", 37}, {"case", 9}, {"categori", 28}, {"chain", 5}, {"chang", 25},
    {"channel", 7}, {"charact", 13}, {"chart", 16}, {"check", 23}, {"choos", 8}, {"citi", 12}, {"client", 9},
    {"cloud", 8}, {"code", 48}, {"collect", 16}, {"color", 7}, {"com", 34}, {"comma", 10}, {"command", 8},
    {"comment", 14}, {"common", 7}, {"compani", 23}, {"complet", 16}, {"complex", 6}, {"comprehens", 8},
    {"config", 7}, {"configur", 15}, {"confirm", 8}, {"connect", 6}, {"contact", 7}, {"contain", 32}, {"content", 34},
    {"context", 16}, {"control", 6}, {"convert", 7}, {"coordin", 7}, {"correspond", 5}, {"count", 15},
    {"countri", 26}, {"creat", 66}, {"currenc", 14}, {"current", 54}, {"cursor", 7}, {"custom", 13}, {"daili", 9},
    {"data", 102}, {"databas", 15}, {"date", 53}, {"day", 24}, {"db", 6}, {"dd", 11}, {"de", 7}, {"default", 97},
    {"delet", 21}, {"deprec", 7}, {"desc", 7}, {"descript", 25}, {"destruct", 6}, {"detail", 84}, {"devic", 6},
    {"dictionari", 10}, {"differ", 10}, {"direct", 5}, {"directori", 15}, {"display", 8}, {"doc", 19},
    {"document", 17}, {"domain", 12}, {"download", 10}, {"drive", 5}, {"element", 7}, {"email", 18}, {"empti", 8},
    {"en", 7}, {"enabl", 17}, {"encod", 11}, {"end", 19}, {"endpoint", 99}, {"environ", 7}, {"error", 29},
    {"etag", 9}, {"event", 31}, {"exact", 12}, {"exampl", 41}, {"exchang", 9}, {"exclud", 12}, {"execut", 7},
    {"exist", 22}, {"explicit", 12}, {"extract", 7}, {"failur", 10}, {"fals", 16}, {"fetch", 34}, {"field", 45},
    {"file", 49}, {"filter", 53}, {"financi", 6}, {"find", 24}, {"first", 27}, {"flag", 5}, {"flow", 5}, {"fmp", 8},
    {"folder", 8}, {"follow", 15}, {"footbal", 14}, {"form", 7}, {"format", 53}, {"found", 11}, {"free", 8},
    {"full", 34}, {"function", 8}, {"game", 16}, {"gate", 6}, {"generat", 26}, {"get", 492}, {"git", 14},
    {"given", 49}, {"global", 6}, {"googl", 12}, {"graph", 11}, {"group", 22}, {"header", 17}, {"height", 7},
    {"high", 7}, {"histor", 13}, {"histori", 12}, {"hockey", 6}, {"home", 7}, {"hour", 5}, {"html", 10}, {"http", 11},
    {"https", 35}, {"hub", 5}, {"iam", 8}, {"ice", 6}, {"id", 262}, {"identifi", 31}, {"ignor", 5}, {"imag", 32},
    {"import", 8}, {"includ", 89}, {"index", 21}, {"indic", 9}, {"individu", 6}, {"info", 30}, {"inform", 88},
    {"input", 13}, {"instagram", 8}, {"instanc", 8}, {"invalid", 7}, {"ip", 7}, {"iso", 9}, {"issu", 13},
    {"item", 36}, {"job", 5}, {"json", 38}, {"key", 32}, {"keyword", 9}, {"know", 6}, {"known", 7}, {"lab", 6},
    {"label", 6}, {"languag", 23}, {"larg", 7}, {"last", 24}, {"latest", 24}, {"latitud", 8}, {"leagu", 18},
    {"length", 6}, {"level", 16}, {"limit", 39}, {"line", 8}, {"linear", 10}, {"link", 18}, {"list", 203},
    {"live", 11}, {"local", 9}, {"locat", 26}, {"log", 6}, {"long", 6}, {"longitud", 8}, {"lookup", 8}, {"low", 5},
    {"main", 5}, {"make", 12}, {"manag", 16}, {"map", 7}, {"markdown", 8}, {"market", 17}, {"match", 58}, {"max", 26},
    {"maximum", 30}, {"mcp", 14}, {"media", 9}, {"merg", 8}, {"messag", 34}, {"metadata", 23}, {"method", 12},
    {"metric", 7}, {"microsoft", 10}, {"min", 6}, {"mm", 12}, {"mode", 10}, {"model", 10}, {"ms", 7}, {"multi", 5},
    {"multipl", 23}, {"name", 151}, {"namespac", 5}, {"need", 39}, {"network", 8}, {"new", 40}, {"news", 21},
    {"next", 22}, {"node", 7}, {"non", 9}, {"note", 23}, {"number", 90}, {"numer", 7}, {"object", 35}, {"obtain", 6},
    {"offset", 7}, {"omit", 6}, {"open", 13}, {"oper", 32}, {"option", 70}, {"order", 21}, {"org", 6}, {"organ", 17},
    {"otherwis", 5}, {"output", 16}, {"overal", 5}, {"overview", 5}, {"owner", 7}, {"packag", 6}, {"page", 62},
    {"pagin", 35}, {"pair", 7}, {"param", 8}, {"paramet", 67}, {"parent", 5}, {"particular", 5}, {"pass", 16},
    {"path", 53}, {"perform", 16}, {"period", 11}, {"permiss", 8}, {"phone", 8}, {"place", 6}, {"plan", 10},
    {"player", 33}, {"pleas", 6}, {"png", 8}, {"point", 15}, {"posit", 6}, {"post", 21}, {"prefer", 6},
    {"previous", 10}, {"price", 32}, {"process", 7}, {"product", 22}, {"profil", 10}, {"project", 43}, {"prompt", 7},
    {"properti", 26}, {"provid", 100}, {"public", 19}, {"queri", 59}, {"quot", 15}, {"random", 11}, {"rang", 13},
    {"rate", 17}, {"read", 24}, {"real", 9}, {"receiv", 6}, {"recent", 11}, {"recommend", 5}, {"record", 15},
    {"refer", 8}, {"region", 9}, {"relat", 19}, {"releas", 6}, {"relev", 7}, {"remot", 6}, {"remov", 8}, {"repo", 8},
    {"report", 5}, {"repositori", 12}, {"request", 73}, {"requir", 58}, {"resourc", 36}, {"respons", 52},
    {"rest", 12}, {"result", 70}, {"retriev", 67}, {"return", 253}, {"review", 5}, {"root", 6}, {"rout", 6},
    {"row", 6}, {"run", 20}, {"save", 5}, {"schema", 10}, {"score", 5}, {"script", 7}, {"search", 91}, {"season", 18},
    {"second", 7}, {"see", 13}, {"segment", 7}, {"select", 15}, {"send", 12}, {"sent", 5}, {"separ", 11}, {"seri", 6},
    {"server", 13}, {"servic", 18}, {"session", 13}, {"set", 53}, {"short", 7}, {"show", 17}, {"sid", 10},
    {"simpli", 7}, {"singl", 27}, {"site", 5}, {"size", 21}, {"skip", 7}, {"slug", 8}, {"song", 8}, {"sort", 13},
    {"sourc", 22}, {"specif", 111}, {"specifi", 56}, {"stand", 6}, {"start", 36}, {"stat", 9}, {"state", 18},
    {"statist", 15}, {"status", 33}, {"stock", 30}, {"store", 7}, {"str", 11}, {"string", 33}, {"structur", 11},
    {"subject", 6}, {"success", 12}, {"summari", 10}, {"suppli", 5}, {"support", 38}, {"symbol", 31}, {"system", 9},
    {"tab", 6}, {"tabl", 10}, {"tag", 18}, {"target", 16}, {"task", 18}, {"team", 41}, {"term", 9}, {"test", 11},
    {"text", 33}, {"ticker", 7}, {"time", 47}, {"timeout", 5}, {"timestamp", 6}, {"tip", 8}, {"titl", 22},
    {"today", 7}, {"token", 25}, {"tool", 49}, {"top", 28}, {"total", 11}, {"tournament", 10}, {"track", 8},
    {"trade", 6}, {"transact", 6}, {"trend", 5}, {"true", 29}, {"twilio", 10}, {"two", 12}, {"type", 70}, {"uid", 5},
    {"uniqu", 24}, {"updat", 50}, {"url", 63}, {"usag", 8}, {"use", 213}, {"user", 95}, {"usernam", 16},
    {"valid", 23}, {"valu", 61}, {"variabl", 5}, {"various", 6}, {"verifi", 5}, {"version", 13}, {"video", 20},
    {"view", 12}, {"volum", 6}, {"want", 12}, {"weather", 6}, {"web", 12}, {"websit", 6}, {"week", 11}, {"word", 12},
    {"work", 13}, {"workspac", 10}, {"world", 5}, {"write", 5}, {"www", 14}, {"year", 16}, {"yyyi", 12},
};
// clang-format on

enum { RARE = 250 };  // of a million: about what a word has that is not in the table

static int compare(const void *key, const void *row) {
  return str_cmp(*(const str *)key, str_of(((const struct row *)row)->stem));
}

double background_share(str stem) {
  const struct row *found = bsearch(&stem, rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
  return found ? found->permille / 1e3 : RARE / 1e6;
}
