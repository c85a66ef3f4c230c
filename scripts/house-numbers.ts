import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Prints measures of the code's structure, such as the sizes of files: `node scripts/house-numbers.ts [--json]`. */

interface Source {
  readonly path: string;
  readonly lines: readonly string[];
  /** The files that it imports by a relative path, as paths relative to the repository. */
  readonly imports: readonly string[];
}

const SPECIFIER = /(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g;

function readSource(path: string): Source {
  const text = readFileSync(path, "utf8");
  const imports = [...text.matchAll(SPECIFIER)].map(([, to = ""]) => normalize(join(dirname(path), to)));
  return { path, lines: text.replace(/\n$/, "").split("\n"), imports: [...new Set(imports)] };
}

/** Returns the production code: the files of `src/` except tests and `src/testing/`. */
function production(): Source[] {
  const paths = globSync("src/**/*.ts").filter(
    (path) => !path.endsWith(".test.ts") && !path.startsWith("src/testing/"),
  );
  return paths.toSorted().map(readSource);
}

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
const percent = (part: number, whole: number) => Math.round((1_000 * part) / whole) / 10;

/** Returns the pairs of folders that import each other. */
function mutualFolders(sources: readonly Source[]): string[] {
  const arrows = new Set<string>();
  for (const { path, imports } of sources)
    for (const to of imports) if (dirname(to) !== dirname(path)) arrows.add(`${dirname(path)} ${dirname(to)}`);
  const pairs = [...arrows].map((arrow) => arrow.split(" "));
  return pairs.filter(([a = "", b = ""]) => a < b && arrows.has(`${b} ${a}`)).map(([a, b]) => `${a} and ${b}`);
}

/** Returns the number of lines that belong to import statements, which may have several lines each. */
function importLines({ lines }: Source): number {
  let count = 0;
  let isOpen = false;
  for (const line of lines) {
    if (!isOpen && !/^import\b/.test(line)) continue;
    count += 1;
    isOpen = !/;\s*$/.test(line);
  }
  return count;
}

const COMMENT = /^\s*(?:\/\/|\/\*\*?|\*(?!\/))\s*(.*?)\s*(?:\*\/)?$/;
const HEADLESS = /^(?:What|Who|Whom|Whose|Whoever|Whatever|Where|Wherever|Of|So|Which|How|That which)\b/;

/** Yields the first line with text of each comment. */
function* comments({ lines }: Source): Generator<string> {
  let isInside = false;
  for (const line of lines) {
    const [, text] = COMMENT.exec(line) ?? [];
    const isComment = text !== undefined;
    if (isComment && !isInside && text !== "") yield text;
    // If the opening line of a block comment has no text, the next line is the first one.
    isInside = isComment && !(text === "" && line.includes("/*"));
  }
}

/** Returns the number of files that exactly one other file imports. */
function withOneImporter(sources: readonly Source[]): number {
  const importers = new Map<string, number>();
  for (const { imports } of sources) for (const to of imports) importers.set(to, (importers.get(to) ?? 0) + 1);
  return sources.filter(({ path }) => importers.get(path) === 1).length;
}

function count(sources: readonly Source[], pattern: RegExp): number {
  return sum(sources.map(({ lines }) => lines.filter((line) => pattern.test(line)).length));
}

function numbers(sources: readonly Source[]): Record<string, number | readonly string[]> {
  const lines = sum(sources.map((one) => one.lines.length));
  const rooms = Map.groupBy(sources, ({ path }) => dirname(path));
  const firsts = sources.flatMap((one) => [...comments(one)]);
  return {
    files: sources.length,
    lines,
    "lines of a median file": median(sources.map((one) => one.lines.length)),
    "files in the largest folder": Math.max(0, ...[...rooms.values()].map((room) => room.length)),
    "folders over 45 files": [...rooms].filter(([, room]) => room.length > 45).map(([folder]) => folder),
    "folders that import each other": mutualFolders(sources),
    "files with one importer, %": percent(withOneImporter(sources), sources.length),
    "import lines, %": percent(sum(sources.map(importLines)), lines),
    comments: firsts.length,
    "headless comments, %": percent(firsts.filter((text) => HEADLESS.test(text)).length, firsts.length),
    "conditional spreads": count(sources, /\.\.\.\(.* \? \{\} : \{|\.\.\.\(.* && \{/),
    "module-level WeakMaps": count(sources, /^(?:export )?const .*new WeakMap/),
  };
}

const found = numbers(production());
if (process.argv.includes("--json")) console.log(JSON.stringify(found, null, 2));
else {
  for (const [name, value] of Object.entries(found)) {
    const shown =
      typeof value === "number" ? value.toLocaleString("en") : value.length === 0 ? "none" : value.join("; ");
    console.log(`${name.padEnd(32)} ${shown}`);
  }
}
