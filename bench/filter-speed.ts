import { DirectionalFilter, SANDBOX_POLICY } from "../src/core/filter/directional-filter.ts";
import { FilterPattern } from "../src/core/filter/filter-pattern.ts";
import { amountFor, type Bench } from "./lib/bench.ts";
import type { Ratio, Row } from "./lib/result.ts";

const DECISIONS = 2_000_000;
/** The promised minimum, in million decisions a second. */
const PROMISE = 5;
/** The number of patterns of the sandbox policy, for both directions together. */
const SANDBOX_PATTERNS = SANDBOX_POLICY.toReplica.length + SANDBOX_POLICY.fromReplica.length;

/** An example of each form of pattern that is tested with string operations alone. */
const FAST: Readonly<Record<string, string>> = {
  exact: "/src/generated/schema.ts",
  name: "node_modules",
  prefix: "build/",
  suffix: "*.pyc",
  contains: "*cache*",
};

export const filterSpeed: Bench = {
  name: "filter-speed",
  promise:
    "a replication filter decides 5 million times a second or more on exact, prefix, suffix and contains patterns",
  run(context) {
    const { options } = context;
    const decisions = amountFor(context, { what: "decisions", all: DECISIONS });
    const paths = somePaths();
    const ratios: Ratio[] = Object.entries(FAST).map(([form, pattern]) => {
      const filter = new DirectionalFilter().addPattern(new FilterPattern(pattern));
      const samples = rounds(options.rounds, filter, { paths, decisions });
      context.say(`${form}: ${samples.map((sample) => sample.toFixed(1)).join(", ")} M/s`);
      return { what: `${form} (${pattern})`, unit: "M/s", samples, target: { kind: "at-least", value: PROMISE } };
    });
    const rows: Row[] = [
      ["all five together", filterOf(Object.values(FAST))],
      [`the sandbox policy (${SANDBOX_PATTERNS} patterns)`, DirectionalFilter.of(SANDBOX_POLICY)],
    ].map(([what, filter]) => ({
      what: what as string,
      unit: "M/s",
      samples: rounds(options.rounds, filter as DirectionalFilter, { paths, decisions }),
    }));
    return {
      rows,
      ratios,
      notes: [`each round has ${decisions / 1e6} million decisions about ${paths.length} paths, in one thread`],
    };
  },
};

function filterOf(patterns: readonly string[]): DirectionalFilter {
  const filter = new DirectionalFilter();
  for (const pattern of patterns) filter.addPattern(new FilterPattern(pattern));
  return filter;
}

interface Load {
  readonly paths: readonly string[];
  /** The number of decisions in a round. */
  readonly decisions: number;
}

/** Returns the speed of each round in million decisions a second, after a round that is not counted. */
function rounds(count: number, filter: DirectionalFilter, load: Load): number[] {
  measure(filter, load);
  return Array.from({ length: count }, () => measure(filter, load));
}

/** Returns the speed of one round in million decisions a second. */
function measure(filter: DirectionalFilter, { paths, decisions }: Load): number {
  let passed = 0;
  const started = performance.now();
  for (let done = 0; done < decisions; done += paths.length) {
    for (const path of paths) if (filter.passesPath(path, false, "from-replica")) passed += 1;
  }
  const seconds = (performance.now() - started) / 1000;
  // `passed` must be used, because the compiler could otherwise leave the work out.
  if (passed > decisions * 2) throw new Error("more paths passed than were tested");
  return decisions / seconds / 1e6;
}

/**
 * Returns 2,000 paths like those of a project. They go through JSON, so that each is a flat string like a path from a
 * log or a disk, and not a concatenation that V8 has not carried out yet.
 */
function somePaths(): string[] {
  const folders = [
    "src/core",
    "src/server/routes/rows",
    "node_modules/left-pad/lib",
    "build/static/js",
    "docs",
    "test/cli",
  ];
  const names = [
    "index.ts",
    "module.pyc",
    "readme.md",
    "cached-page.html",
    "main.go",
    "a-much-longer-name-of-a-file.test.ts",
  ];
  const text = Array.from({ length: 2000 }, (_, i) => {
    return `${folders[i % folders.length]}/part-${i % 37}/${i}-${names[(i * 7) % names.length]}`;
  });
  return JSON.parse(JSON.stringify(text)) as string[];
}
