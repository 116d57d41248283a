# A few targets around Meson; `make help` lists them. Everything that is built goes into build/ and build-*/.
MESON ?= meson
NINJA ?= ninja
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 300
BENCH_ROUNDS ?= 4
BENCH_SECS ?= 2
LISTEN ?= 127.0.0.1:8811
RETRIEVAL ?= ../shared/data/retrieval
CATALOGS ?= ../shared/data/catalogs

PROGRAMS = toolgate examples/quickstart/notes examples/quickstart/textkit

all: build/build.ninja  ## build the program: build/toolgate
	@$(NINJA) -C build $(PROGRAMS)

run: all  ## build, then serve examples/quickstart on http://127.0.0.1:8811 (LISTEN=HOST:PORT)
	@exec scripts/run build/toolgate $(LISTEN)

test: build-asan/build.ninja  ## every test, under ASan and UBSan
	@$(NINJA) -C build-asan all meson-test-prereq
	@python3 tests/run.py --build build-asan $(TEST_FLAGS)

check-long: build-asan/build.ninja  ## test with more time, then ten minutes of fuzzing for each parser (about an hour)
	@$(NINJA) -C build-asan all meson-test-prereq
	@python3 tests/run.py --build build-asan --long
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=600

man: all  ## write docs/toolgate.1 from docs/toolgate.1.in and the help of the program
	@TOOLGATE=build/toolgate scripts/man-page > build/toolgate.1
	@mv build/toolgate.1 docs/toolgate.1

bench: all  ## direct, nginx and Toolgate side by side, and the speed of search and store (BENCH_ROUNDS, BENCH_SECS)
	@scripts/deps bench
	@$(MAKE) --no-print-directory -C bench
	@python3 bench/run.py --rounds $(BENCH_ROUNDS) --secs $(BENCH_SECS)
	@$(MAKE) --no-print-directory search-speed
	@$(MAKE) --no-print-directory bench-store

bench-instructions: all  ## instructions of a call, with valgrind (BASE: an older program to compare with)
	@scripts/deps bench-instructions
	@$(MAKE) --no-print-directory -s -C bench
	@python3 bench/instructions.py $(BASE) build/toolgate

bench-big: all  ## large results: memory, time to answer, longest stall
	@scripts/deps bench test
	@scripts/node bench/big.mjs
	@scripts/node bench/big.mjs --clients 20 --from json --kind log

bench-agents: all  ## what the operations of mode servers take, before servers on stdio
	@scripts/deps bench
	@$(MAKE) --no-print-directory -s -C bench
	@python3 bench/agents.py
	@python3 bench/agents.py --audit

bench-json:  ## the JSON parser beside jansson
	@scripts/deps build bench-json
	@$(MAKE) --no-print-directory -C bench json

bench-store: all  ## how long it takes until something is durable, on the disk of build/
	@$(MAKE) --no-print-directory -s -C bench store

bench-views: all  ## how long views of 50 MB take, and what memory
	@$(MAKE) --no-print-directory -C bench views

bench-search: all  ## how well the search finds tools, and how fast (RETRIEVAL: folder of the data sets)
	@scripts/deps bench
	@python3 bench/retrieval.py $(RETRIEVAL)
	@$(MAKE) --no-print-directory search-speed

bench-primitives: all  ## token savings and recall for tools, resources and prompts (CATALOGS: folder of catalogs)
	@python3 bench/primitives.py --catalogs $(CATALOGS)

search-speed: all
	@$(MAKE) --no-print-directory -s -C bench search
	@if [ -d $(RETRIEVAL)/mcp-large ]; then \
	  build/bench/search_bench $(RETRIEVAL)/mcp-large/tools.jsonl $(RETRIEVAL)/mcp-large/queries.jsonl; \
	else echo "search_bench: skipped, there is no $(RETRIEVAL)/mcp-large"; fi

bench-tokens:  ## counting tokens beside tiktoken, on the same texts
	@scripts/deps build test
	@$(MAKE) --no-print-directory -C bench tokens
	@scripts/node bench/tokens.mjs

fuzz:  ## every fuzz target for FUZZ_SECONDS (300) each; findings go to build-fuzz/
	@scripts/deps build fuzz
	@scripts/fuzz $(FUZZ_SECONDS)

lint: build/build.ninja  ## source rules, format, clang-tidy
	@scripts/deps lint
	@scripts/lint

format:  ## put the C files into the form that lint asks for
	@scripts/deps lint
	@clang-format -i $$(scripts/lint --files)

sbom: all  ## the software bill of materials of build/toolgate: build/toolgate.spdx.json
	@scripts/sbom build/toolgate > build/toolgate.spdx.json
	@echo build/toolgate.spdx.json

install: build/build.ninja  ## install the program and its manual page below PREFIX (/usr/local)
	@$(MESON) configure build -Dprefix=$(PREFIX)
	@$(NINJA) -C build $(PROGRAMS)
	@$(MESON) install -C build --no-rebuild

clean:  ## remove everything that was built
	rm -rf build build-asan build-fuzz

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1	\2/p' Makefile | expand -t 20

build/build.ninja:
	@scripts/deps build
	@$(MESON) setup build

build-asan/build.ninja: | deps-test
	@$(MESON) setup build-asan -Db_sanitize=address,undefined -Db_lundef=false

deps-test:
	@scripts/deps build test

.PHONY: all run test man check-long bench bench-instructions bench-agents bench-big bench-json bench-store bench-views bench-search bench-primitives search-speed bench-tokens fuzz lint format sbom install clean help deps-test
