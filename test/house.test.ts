import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import config from "../oxlint.config.ts";
import { BACKENDS, ROOMS, WALLS } from "../scripts/walls.ts";

const repo = dirname(import.meta.dirname);
const oxlint = join(repo, "node_modules/oxlint/bin/oxlint");

/** One planted file: where, what, and the rule that must report it. `message` is part of the reason given. */
interface Plant {
  readonly path: string;
  readonly source: string;
  readonly rule: string;
  readonly message?: string;
}

const IMPORTS = "eslint(no-restricted-imports)";

/** A file in `from` that imports `specifier`. */
function importing(from: string, specifier: string, message: string): Plant {
  const source = `import { thing } from "${specifier}";\nexport const other = thing;\n`;
  return { path: from, source, rule: IMPORTS, message };
}

/** Where a violation of a folder's wall is planted. */
const plantIn = (folder: string) => `src/${folder}/plant.ts`;
const upFrom = (path: string) => "../".repeat(path.split("/").length - 2);

/** Every folder that the table of walls closes to another, and what lies behind a port. */
function* betweenFolders(): Generator<Plant> {
  for (const [folder, sees, reason] of WALLS) {
    const path = plantIn(folder);
    for (const [to] of WALLS) {
      if (to === folder || sees.includes(to)) continue;
      if (sees.includes(`${to}:port`)) yield importing(path, BEHIND_PORTS[to] ?? "", reason);
      else yield importing(path, `../${to}/thing.ts`, reason);
    }
    if (!sees.includes("open.ts")) yield importing(path, "../open.ts", reason);
    if (folder !== "disk") yield importing(path, "node:fs", "node:fs only in disk");
    if (folder !== "disk") yield importing(path, "node:fs/promises", "node:fs only in disk");
    yield importing(path, "../index.ts", "index.ts is for users");
    yield importing(path, "../testing/thing.ts", "testing is for tests");
  }
}

const BEHIND_PORTS: Readonly<Record<string, string>> = {
  storage: "../storage/files/thing.ts",
  worktree: "../worktree/scan/scan.ts",
  disk: "../disk/node-disk.ts",
};

/** Every room that its order closes to a later one; the wall of the folder around it holds there as well. */
function* betweenRooms(): Generator<Plant> {
  for (const [place, order] of Object.entries(ROOMS)) {
    for (const [i, room] of order.entries()) {
      const path = plantIn(`${place}/${room}`);
      for (const later of order.slice(i + 1))
        yield importing(path, `../${later}/thing.ts`, "sees only the rooms before");
      const [, , reason = ""] = WALLS.find(([folder]) => folder === place.split("/")[0]) ?? [];
      yield importing(path, `${upFrom(path)}index.ts`, "index.ts is for users");
      const closed = place.startsWith("cli") ? "engine" : "cli";
      yield importing(path, `${upFrom(path)}${closed}/thing.ts`, reason);
    }
  }
}

function* walls(): Generator<Plant> {
  yield* betweenFolders();
  yield* betweenRooms();
  for (const from of BACKENDS) {
    for (const to of BACKENDS)
      if (to !== from) yield importing(plantIn(`storage/${from}`), `../${to}/thing.ts`, "a backend knows no other");
    yield importing(plantIn(`storage/${from}`), "../../worktree/thing.ts", "a backend uses only");
  }
  yield importing("src/storage/plant.ts", "./files/thing.ts", "a port knows");
  yield importing("src/storage/plant.ts", "../engine/thing.ts", "a backend uses only");
  yield importing("src/open.ts", "node:fs", "node:fs only in disk");
  yield importing("src/open.ts", "./cli/main.ts", "a composition root");
  yield importing("src/open.ts", "./storage/files/thing.ts", "a composition root");
}

/** The page uses the client for browsers and the types of the contract, and writes no HTML. */
const OF_THE_PAGE: readonly Plant[] = [
  importing("ui/src/data/plant.ts", "../../../src/engine/thing.ts", "the page uses src/client/index.ts"),
  importing("ui/src/data/plant.ts", "../../../src/client/wire.ts", "the page uses src/client/index.ts"),
  importing("ui/src/data/plant.ts", "../../../src/index.ts", "the page uses src/client/index.ts"),
  importing("ui/src/data/plant.ts", "../../../src/api/shapes.ts", "the page uses only types of src/api"),
  importing("ui/src/data/plant.ts", "node:path", "the page runs in a browser"),
  {
    path: "ui/src/plant.tsx",
    source: "export const A = (html: string) => <p dangerouslySetInnerHTML={{ __html: html }} />;\n",
    rule: "react(no-danger)",
  },
  {
    path: "ui/src/plant.tsx",
    source: "export const A = (names: string[]) => names.map((name) => <p>{name}</p>);\n",
    rule: "react(jsx-key)",
  },
  {
    path: "ui/src/plant.tsx",
    source: "export const A = () => <div onClick={() => {}}>x</div>;\n",
    rule: "jsx-a11y(click-events-have-key-events)",
  },
  { path: "ui/src/plant.tsx", source: "export const A = () => <img src={blob} />;\n", rule: "jsx-a11y(alt-text)" },
];

const body = (statement: string) => `export function f(x: unknown) {\n  ${statement}\n  return x;\n}\n`;
const lines = (count: number) => "// a line\n".repeat(count);
/** Lines of code: the file cap counts neither comments nor blank lines. */
const codeLines = (count: number) => Array.from({ length: count }, (_, i) => `export const a${i} = 1;\n`).join("");

const HABITS: readonly Plant[] = [
  { path: plantIn("core"), source: body('process.stdout.write("x");'), rule: "eslint(no-restricted-globals)" },
  { path: plantIn("core"), source: body("x = Date.now();"), rule: "eslint(no-restricted-properties)" },
  { path: plantIn("core"), source: body("x = Math.random();"), rule: "eslint(no-restricted-properties)" },
  importing("src/other/plant.ts", "../cli/main.ts", "only bin starts the command line"),
  importing("src/other/plant.ts", "node:fs", "node:fs only in disk"),
  {
    path: plantIn("disk"),
    source: 'import { join } from "path";\nexport const j = join;\n',
    rule: "unicorn(prefer-node-protocol)",
  },
  {
    path: plantIn("api"),
    source: "export namespace n {\n  export const a = 1;\n}\n",
    rule: "typescript(no-namespace)",
  },
  { path: plantIn("api"), source: body("let y = x; return y;"), rule: "eslint(prefer-const)" },
  { path: plantIn("api"), source: body("if (x) { ".repeat(5) + "x = 1;" + " }".repeat(5)), rule: "eslint(max-depth)" },
  { path: plantIn("api"), source: 'export { self } from "./plant.ts";\n', rule: "import(no-self-import)" },
  importing(plantIn("core"), "node:http", "core is pure"),
  importing(plantIn("core"), "node:net", "core is pure"),
  importing(plantIn("core"), "node:worker_threads", "core is pure"),
  {
    path: plantIn("core"),
    source: 'import { randomUUID } from "node:crypto";\nexport const id = randomUUID();\n',
    rule: IMPORTS,
  },
  { path: plantIn("engine/log"), source: body('console.log("x");'), rule: "eslint(no-console)" },
  { path: plantIn("engine/log"), source: body('x = process.env["HOME"];'), rule: "node(no-process-env)" },
  {
    path: plantIn("engine/log"),
    source: 'import { env } from "node:process";\nexport const e = env;\n',
    rule: IMPORTS,
  },
  {
    path: plantIn("storage/files"),
    source: 'import { homedir } from "node:os";\nexport const home = homedir();\n',
    rule: IMPORTS,
    message: "the home folder is known in cli",
  },
  { path: plantIn("server"), source: body("process.exit(1);"), rule: "unicorn(no-process-exit)" },
  { path: plantIn("api"), source: "export default 1;\n", rule: "import(no-default-export)" },
  { path: plantIn("api"), source: "export const a = (x: any) => String(x);\n", rule: "typescript(no-explicit-any)" },
  { path: plantIn("api"), source: "export const a = 1 as any;\n", rule: "typescript(no-explicit-any)" },
  { path: plantIn("api"), source: "// @ts-ignore\nexport const a: number = 1;\n", rule: "typescript(ban-ts-comment)" },
  { path: plantIn("api"), source: codeLines(501), rule: "eslint(max-lines)" },
  { path: "src/core/plant.test.ts", source: codeLines(601), rule: "eslint(max-lines)" },
  { path: plantIn("api"), source: body(lines(60)), rule: "eslint(max-lines-per-function)" },
  {
    path: plantIn("api"),
    source: "export const f = (a: 1, b: 1, c: 1, d: 1, e: 1) => [a, b, c, d, e];\n",
    rule: "eslint(max-params)",
  },
  { path: plantIn("api"), source: body("if (x === 1) x = 2;\n".repeat(25)), rule: "eslint(complexity)" },
  { path: plantIn("api"), source: body("if (x == 1) return 2;"), rule: "eslint(eqeqeq)" },
  { path: plantIn("api"), source: body("var y = x; x = y;"), rule: "eslint(no-var)" },
  { path: plantIn("api"), source: body("try { JSON.parse(String(x)); } catch {}"), rule: "eslint(no-empty)" },
  {
    path: "test/plant.test.ts",
    source: 'import { it } from "vitest";\nit.only("x", () => {});\n',
    rule: "vitest(no-focused-tests)",
  },
];

/** Faults that only a type-aware linter finds. */
const PROMISES: readonly Plant[] = [
  {
    path: plantIn("api"),
    source: "async function f() {}\nexport const g = () => {\n  f();\n};\n",
    rule: "typescript(no-floating-promises)",
  },
  {
    path: plantIn("api"),
    source: "export const f = async () => {};\nif (f()) await f();\n",
    rule: "typescript(no-misused-promises)",
  },
];

/** Two files that import one another, once for their values and once for their types only. */
const CIRCLES: readonly (readonly Plant[])[] = ["", "type "].map((type) =>
  ["one", "two"].map((name, i) => ({
    path: `src/core/${name}.ts`,
    source: `import ${type}{ A as B } from "./${["two", "one"][i]}.ts";\nexport ${type || "const "}A = ${type ? "B[]" : "() => B"};\n`,
    rule: "import(no-cycle)",
  })),
);

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-house-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Finding {
  readonly message: string;
  /** The reason written in the rule, where the rule has one. */
  readonly help?: string;
  readonly code: string;
  readonly filename: string;
}

/** Lays each plant (or group) into a tree of its own with the house's configuration and lints all of them at once. */
function lintAll(groups: readonly (readonly Plant[])[], ...flags: string[]): Finding[][] {
  const top = mkdtempSync(join(folder, "lint-"));
  groups.forEach((plants, i) => {
    write(join(top, String(i), ".oxlintrc.json"), JSON.stringify(config));
    write(join(top, String(i), "tsconfig.json"), '{"compilerOptions":{"strict":true,"module":"nodenext"}}');
    for (const plant of plants) write(join(top, String(i), plant.path), plant.source);
  });
  const run = spawnSync(process.execPath, [oxlint, "-f", "json", "--deny-warnings", ...flags, "."], {
    cwd: top,
    env: { ...process.env, OXLINT_TSGOLINT_PATH: join(repo, "node_modules/.bin/tsgolint") },
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  const found: Finding[][] = groups.map(() => []);
  for (const finding of (JSON.parse(run.stdout) as { diagnostics: Finding[] }).diagnostics) {
    found[Number(finding.filename.split("/")[0])]?.push(finding);
  }
  return found;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const bites = (finding: Finding, plant: Plant) =>
  finding.code === plant.rule && `${finding.message} ${finding.help}`.includes(plant.message ?? "");

describe("the walls", () => {
  it("are enforced by the linter, each by its rule and with its reason", () => {
    const plants = [...walls(), ...OF_THE_PAGE, ...HABITS];
    const found = lintAll(plants.map((plant) => [plant]));
    const unseen = plants.filter((plant, i) => !found[i]?.some((finding) => bites(finding, plant)));
    expect(unseen).toEqual([]);
    expect(plants.length).toBeGreaterThan(150);
  });

  it("forbid circles of imports, of values and of types", () => {
    const found = lintAll(CIRCLES);
    expect(found.map((f) => f.map((finding) => finding.code))).toEqual(CIRCLES.map((c) => c.map((p) => p.rule)));
  });

  it("forbid a promise that nobody awaits, which the type-aware linter finds", () => {
    const found = lintAll(
      PROMISES.map((plant) => [plant]),
      "--type-aware",
    );
    expect(PROMISES.filter((plant, i) => !found[i]?.some((finding) => bites(finding, plant)))).toEqual([]);
  });

  it("let through what the house allows", () => {
    const found = lintAll(ALLOWED.map((plant) => [plant]));
    expect(ALLOWED.filter((_, i) => found[i]?.length !== 0)).toEqual([]);
  });
});

const ALLOWED: readonly Plant[] = [
  importing(plantIn("core"), "../util/thing.ts", ""),
  importing(plantIn("core"), "node:crypto", ""),
  importing(plantIn("core"), "node:zlib", ""),
  importing(plantIn("disk"), "node:fs", ""),
  importing(plantIn("disk"), "../core/errors.ts", ""),
  importing(plantIn("storage/files"), "../blob-store.ts", ""),
  importing(plantIn("storage/files"), "../../disk/disk.ts", ""),
  importing(plantIn("storage/sqlite"), "node:sqlite", ""),
  importing(plantIn("worktree"), "../disk/disk.ts", ""),
  importing(plantIn("engine/log"), "../../storage/blob-store.ts", ""),
  importing(plantIn("engine/log"), "../../worktree/worktree.ts", ""),
  importing(plantIn("engine/log"), "../../api/thing.ts", ""),
  importing(plantIn("engine/capture"), "../log/thing.ts", ""),
  importing(plantIn("replication"), "../engine/workspace.ts", ""),
  importing(plantIn("server"), "../api/thing.ts", ""),
  importing("src/open.ts", "./backends/registry.ts", ""),
  importing(plantIn("backends"), "../storage/files/thing.ts", ""),
  importing(plantIn("cli/commands/look"), "../../../open.ts", ""),
  { path: plantIn("cli"), source: 'console.error(process.env["HOME"]);\nprocess.exit(1);\n', rule: "" },
  importing("src/core/plant.test.ts", "node:fs", ""),
  importing("ui/src/data/plant.ts", "../../../src/client/index.ts", ""),
  {
    path: "ui/src/data/plant.ts",
    source: 'import type { thing } from "../../../src/api/shapes.ts";\nexport type Other = thing;\n',
    rule: "",
  },
];

describe("the files of the repository", () => {
  const tracked = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: repo })
    .toString()
    .split("\0")
    .filter((name) => name !== "");

  it("name no package registry and no path of the machine they were written on", () => {
    // Spelled in pieces, so that this file passes its own test.
    const forbidden = new RegExp(
      ["registry\\.(npm|yarn)", "npm" + "js\\.org", '"resol' + 'ved":', "/wo" + "rk/", "/ro" + "ot/"].join("|"),
    );
    const guilty = tracked.filter((name) => forbidden.test(readIfThere(join(repo, name))));
    expect(guilty).toEqual([]);
  });

  it("exist if the documents for developers name them", () => {
    const isThere = (name: string): boolean => tracked.some((file) => file === name || file.endsWith(`/${name}`));
    for (const document of ["architecture", "internals", "backends"]) {
      const names = readFileSync(join(repo, `docs/${document}.md`), "utf8").matchAll(/`([\w./-]+\.ts)`/g);
      expect([...names].map(([, name = ""]) => name).filter((name) => !isThere(name))).toEqual([]);
    }
  });

  it("have exactly the known scripts in package.json", () => {
    const { scripts } = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as { scripts: object };
    expect(Object.keys(scripts).toSorted()).toEqual(["bench", "build", "check", "prepare", "test", "test:long"]);
  });
});

/** Text of a file, "" when it was deleted but is still in git's index. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

/** The files that finish interrupted operations: before each change, and where one is found under the lock. */
const SETTLING = new Set([
  "engine/undo/before-change.ts",
  "engine/capture/capture.ts",
  "engine/capture/operate.ts",
  "engine/write/write-together.ts",
  "replication/folder/cycle/folder-cycle.ts",
]);

it("interrupted operations are finished by the queue of operations before a change, not by operations themselves", () => {
  const src = join(repo, "src");
  const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((path) =>
    /(?<!\.test)\.ts$/.test(path),
  );
  const calls = sources.filter((path) => {
    const text = readFileSync(join(src, path), "utf8");
    return /(?<!function )\b(?:settle|closeAbandoned)\((?:this\.#)?context/.test(text);
  });
  expect(calls.filter((path) => !SETTLING.has(path))).toEqual([]);
  expect(calls).toContain("engine/undo/before-change.ts");
});

it("only change-files.ts calls operate: an operation that changes files is a plan for it", () => {
  const engine = join(repo, "src/engine");
  const sources = readdirSync(engine, { recursive: true, encoding: "utf8" }).filter((path) =>
    /(?<!\.test)\.ts$/.test(path),
  );
  const calls = sources.filter((path) => /(?<!function )\boperate\(/.test(readFileSync(join(engine, path), "utf8")));
  expect(calls).toEqual(["capture/change-files.ts"]);
});

it("every folder of src/storage is a backend that the walls know: BACKENDS in scripts/walls.ts", () => {
  const found = readdirSync(join(repo, "src/storage"), { withFileTypes: true }).filter((one) => one.isDirectory());
  expect(found.map(({ name }) => name).toSorted()).toEqual(BACKENDS.toSorted());
});

it("no list of unbounded length is spread into arguments: see src/util/long-lists.ts", () => {
  const src = join(repo, "src");
  const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (path) => /(?<!\.test)\.ts$/.test(path) && !path.startsWith("testing"),
  );
  const inCall = String.raw`\((?:[^()]|\([^()]*\))*?\.\.\.`;
  const SPREAD = new RegExp(
    String.raw`\.(?:push|unshift)\(\s*\.\.\.|\.splice${inCall}(?!\()|\bMath\.(?:min|max)${inCall}`,
  );
  expect(sources.filter((path) => SPREAD.test(readFileSync(join(src, path), "utf8")))).toEqual([]);
  expect(["a.push(...b)", "a.splice(0, 1, ...b)", "Math.min(0, ...b)"].filter((text) => !SPREAD.test(text))).toEqual(
    [],
  );
});
