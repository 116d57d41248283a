#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token savings and recall of mode gateway for each kind of primitive: tools, resources, prompts.

  bench/primitives.py [--toolgate PROGRAM] [--catalogs FOLDER]

Serves a catalog (a snapshot with tools, resources, resourceTemplates and prompts) in mode gateway and searches it with
tool_browse, resource_browse and prompt_browse. For each kind it prints the tokens (cl100k_base) of the definitions that
a client of mode direct reads, the mean tokens of one answer with five cards, and recall@1 and recall@5.

The set "small" is in bench/primitives, with queries that a person wrote. FOLDER adds the set "catalogs": all its
catalogs together, each item searched by its own description without the words of its name. Without FOLDER that set is
skipped.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {
    "tool": (["tools"], "tool_browse"),
    "resource": (["resources", "resourceTemplates"], "resource_browse"),
    "prompt": (["prompts"], "prompt_browse"),
}


class Client:
    """An MCP client of a gateway on stdio."""

    def __init__(self, program, folder, servers):
        config = folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": servers}))
        argv = [program, "serve", "--mode", "gateway", "--transport", "stdio", "--mcp-config", str(config)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        cwd=folder, text=True)
        self.count = 0
        info = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.count and "method" not in answer:
                return answer["result"]
        raise SystemExit("the gateway ended")

    def browse(self, verb, query):
        """The text of the answer and the ids and names of its cards."""
        wanted = {"io.toolgate/structured": True}
        result = self.ask("tools/call", {"name": verb, "arguments": {"query": query, "top_k": 5}, "_meta": wanted})
        return result["content"][0]["text"], result.get("structuredContent", {}).get("cards", [])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def count_tokens(program, texts):
    """The tokens of all texts together."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, text in enumerate(texts):
            files.append(pathlib.Path(folder) / str(i))
            files[-1].write_text(text)
        out = subprocess.run([program, "tokens", *map(str, files)], capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[0]) for line in out.splitlines()[:len(files)])


def key_of(item):
    return item.get("uri") or item.get("uriTemplate") or item["name"]


def described(item):
    """A query for an item that nobody wrote one for: what it says of itself, without the words of its name."""
    name = set(re.findall(r"[a-z]+", (item.get("name", "") + " " + key_of(item)).lower()))
    words = re.findall(r"[A-Za-z]{3,}", item.get("description") or "")[:24]
    return " ".join(word for word in words if word.lower() not in name)[:160]


def measure(program, name, servers, queries):
    """servers: name -> snapshot; queries: [(kind, server, key, text)]."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        entries = {}
        for server, snapshot in servers.items():
            file = folder / f"{server}.json"
            file.write_text(json.dumps(snapshot))
            entries[server] = {"type": "snapshot", "catalog": str(file)}
        client = Client(program, folder, entries)
        for kind, (lists, verb) in KINDS.items():
            items = [item for s in servers.values() for key in lists for item in s.get(key) or []]
            asked = [q for q in queries if q[0] == kind and q[3]]
            if not items or not asked:
                continue
            listing = count_tokens(program, [json.dumps(item, separators=(",", ":")) for item in items])
            answers, first, five = [], 0, 0
            for _, server, key, text in asked:
                answer, cards = client.browse(verb, text)
                hits = [card["namespace"] == server and key == card["name"] for card in cards]
                answers.append(answer)
                first += hits[:1] == [True]
                five += any(hits)
            mean = count_tokens(program, answers) / len(answers)
            print(f"| {name} | {kind}s | {len(items)} | {listing} | {mean:.0f} | {1 - mean / listing:.1%} | "
                  f"{len(asked)} | {first / len(asked):.3f} | {five / len(asked):.3f} |", flush=True)
        client.close()


def small_set():
    snapshot = json.loads((HERE / "primitives" / "catalog.json").read_text())
    queries = [json.loads(line) for line in (HERE / "primitives" / "queries.jsonl").read_text().splitlines() if line]
    keys = {item["name"]: key_of(item) for items in snapshot.values() for item in items}
    return {"shop": snapshot}, [(q["kind"], "shop", keys[q["key"]], q["query"]) for q in queries]


def catalog_set(folder):
    servers, queries = {}, []
    for file in sorted(folder.glob("*.json")):
        snapshot = json.loads(file.read_text())
        server = re.sub(r"[^a-z0-9-]", "-", file.stem.lower())[:40].strip("-")
        if not isinstance(snapshot, dict) or not server[:1].isalpha():
            continue
        servers[server] = snapshot
        for kind, (lists, _) in KINDS.items():
            items = [item for key in lists for item in snapshot.get(key) or []]
            every = 20 if kind == "tool" else 1
            queries += [(kind, server, key_of(item), described(item)) for item in items[::every]]
    return servers, queries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolgate", default=str(HERE.parent / "build" / "toolgate"))
    parser.add_argument("--catalogs", type=pathlib.Path)
    args = parser.parse_args()
    print("| set | kind | items | tokens of all definitions | tokens of an answer | saved | queries | R@1 | R@5 |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    measure(args.toolgate, "small", *small_set())
    if args.catalogs and args.catalogs.is_dir():
        measure(args.toolgate, "catalogs", *catalog_set(args.catalogs))
    else:
        print("catalogs: skipped, there is no folder of catalogs")


main()
