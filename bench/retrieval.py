#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well `toolgate rank` finds tools, beside plain BM25 and TF-IDF on the same data.

  bench/retrieval.py FOLDER [--toolgate PROGRAM] [--no-baselines] [--set NAME ...]

FOLDER has a folder for each set with tools.jsonl ({"id", "name", "description", "inputSchema", "server"}) and
queries.jsonl ({"id", "query", "relevant": [ids]} and perhaps "groups": one list of ids for each need, of which any
meets it). recall@k is the share of a query's needs met in the first k, averaged over queries.

The queries of each set are split by a hash of their id: weights and word lists were chosen on the "dev" half only.

The published sets of docs/internals/retrieval.md come from these repositories. MIT licence:
  azure-mcp         microsoft/mcp (e2eTestPrompts.md), npm @azure/mcp
  mcpproxy          smart-mcp-proxy/mcpproxy-go (discovery-profiler)
  metatool          HowieHwong/MetaTool
  restbench         Yifan-Song793/RestGPT (TMDB, Spotify)
Apache-2.0 licence:
  bfcl              ShishirPatil/gorilla (Berkeley Function Calling Leaderboard v4), functions of all questions pooled
  contextweaver     dgenio/contextweaver (sample_catalog, routing_gold)
  livemcpbench, livemcpbench-steps, livemcpbench-agent
                    icip-cas/LiveMCPBench: tasks, annotators' steps, and queries of an agent, over the same tools
  nestful           IBM/NESTFUL
  seal-tools        fairyshine/Seal-Tools
  stabletoolbench   THUNLP-MT/StableToolBench, endpoints of all solvable queries pooled
  toolbench-13k     the queries of stabletoolbench over 13 017 endpoints, some from a repository without a licence
  mcp-large         (also MIT) the queries of the MCP sets over 9 673 tools of LiveMCPBench, microsoft/mcp, mcpproxy-go
                    and other MCP servers
"""
import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

MEASURES = ["R@1", "R@5", "R@10", "MRR", "nDCG"]


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def half(query_id):
    """dev or test: FNV-1a of the id, mixed, lowest bit."""
    h = 2166136261
    for byte in query_id.encode():
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    h ^= h >> 15
    h = h * 0x2C1B3C6D & 0xFFFFFFFF
    return "dev" if (h ^ h >> 12) & 1 else "test"


def measure(queries, ranked):
    """Means of MEASURES over the queries."""
    total = [0.0] * len(MEASURES)
    for q in queries:
        needs = [set(g) for g in (q.get("groups") or [[x] for x in q["relevant"]])]
        met, places, first = set(), [], 0
        for place, tool in enumerate(ranked.get(q["id"], [])[:10], 1):
            meets = [i for i, need in enumerate(needs) if tool in need]
            first = first or (place if meets else 0)
            fresh = next((i for i in meets if i not in met), None)
            if fresh is not None:
                met.add(fresh)
                places.append(place)
        ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(needs))))
        values = [sum(p <= k for p in places) / len(needs) for k in (1, 5, 10)]
        values += [1 / first if first else 0, sum(1 / math.log2(p + 1) for p in places) / ideal]
        total = [a + b for a, b in zip(total, values)]
    return [t / max(1, len(queries)) for t in total]


def rank_with_toolgate(program, folder):
    with tempfile.TemporaryFile("w+") as out:
        command = [program, "rank", "--tools", folder / "tools.jsonl", "--queries", folder / "queries.jsonl"]
        subprocess.run([str(c) for c in command], stdout=out, check=True)
        out.seek(0)
        return {x["id"]: x["ranked"] for x in map(json.loads, out)}


# ---- baselines: the whole text of a tool as one bag of words, no stems, no lists of words ----

def words(text):
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return re.findall(r"[a-z]+|[0-9]+|[\u3040-\u9fff]", text.lower())


def text_of(tool):
    parts = [tool["name"], tool.get("description") or "", tool.get("server") or ""]
    properties = (tool.get("inputSchema") or {}).get("properties") or {}
    for name, schema in properties.items():
        parts += [name, str(schema.get("description") or "") if isinstance(schema, dict) else ""]
    return " ".join(parts)


class Bag:
    """An inverted index: for each word, the tools that have it and how often."""

    def __init__(self, tools):
        self.ids = [t["id"] for t in tools]
        self.lengths, self.postings = [], collections.defaultdict(list)
        for number, tool in enumerate(tools):
            counts = collections.Counter(words(text_of(tool)))
            self.lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self.postings[word].append((number, count))
        self.average = sum(self.lengths) / len(tools)
        self.norms = [0.0] * len(tools)
        for word, postings in self.postings.items():
            for number, count in postings:
                self.norms[number] += ((1 + math.log(count)) * self.idf(word)) ** 2

    def idf(self, word):
        with_word = len(self.postings[word])
        return math.log(1 + (len(self.ids) - with_word + 0.5) / (with_word + 0.5))

    def top(self, scores):
        return [self.ids[n] for n in sorted(scores, key=lambda n: (-scores[n], self.ids[n]))[:10]]

    def bm25(self, query, k1=1.2, b=0.75):
        scores = collections.defaultdict(float)
        for word in words(query):
            if word in self.postings:
                idf = self.idf(word)
                for n, tf in self.postings[word]:
                    scores[n] += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * self.lengths[n] / self.average))
        return self.top(scores)

    def tfidf(self, query):
        scores = collections.defaultdict(float)
        for word, count in collections.Counter(words(query)).items():
            if word in self.postings:
                weight = (1 + math.log(count)) * self.idf(word) ** 2
                for n, tf in self.postings[word]:
                    scores[n] += weight * (1 + math.log(tf)) / math.sqrt(self.norms[n])
        return self.top(scores)


def rank_all(folder, program, queries, baselines):
    ranked = {"toolgate": rank_with_toolgate(program, folder)}
    if baselines:
        bag = Bag(read(folder / "tools.jsonl"))
        ranked["BM25"] = {q["id"]: bag.bm25(q["query"]) for q in queries}
        ranked["TF-IDF"] = {q["id"]: bag.tfidf(q["query"]) for q in queries}
    return ranked


def main():
    parser = argparse.ArgumentParser(description="How well toolgate rank finds tools.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--toolgate", default="build/toolgate")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--set", action="append")
    options = parser.parse_args()
    folders = sorted(p.parent for p in options.folder.glob("*/queries.jsonl"))
    folders = [f for f in folders if not options.set or f.name in options.set]
    if not folders:
        print(f"bench/retrieval.py: skipped, there are no sets in {options.folder}")
        return 0
    means = collections.defaultdict(list)
    print("| set | queries | which | " + " | ".join(MEASURES) + " |")
    print("|---|---:|---|" + "---:|" * len(MEASURES))
    for folder in folders:
        queries = read(folder / "queries.jsonl")
        ranked = rank_all(folder, options.toolgate, queries, not options.no_baselines)
        rows = {name: measure(queries, answers) for name, answers in ranked.items()}
        for part in ("dev", "test"):
            rows[f"toolgate, {part} half"] = measure([q for q in queries if half(q["id"]) == part], ranked["toolgate"])
        for name, values in rows.items():
            means[name].append(values)
            print(f"| {folder.name} | {len(queries)} | {name} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
        sys.stdout.flush()
    for name, values in means.items():
        mean = [sum(column) / len(values) for column in zip(*values)]
        print(f"| **mean of {len(values)}** | | {name} | " + " | ".join(f"**{v:.3f}**" for v in mean) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
