import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

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

const FOLDERS = {
  util: "src/util/plant.ts",
  core: "src/core/plant.ts",
  disk: "src/disk/plant.ts",
  port: "src/storage/plant.ts",
  memory: "src/storage/memory/plant.ts",
  files: "src/storage/files/plant.ts",
  sqlite: "src/storage/sqlite/plant.ts",
  postgres: "src/storage/postgres/plant.ts",
  s3: "src/storage/s3/plant.ts",
  sql: "src/storage/sql/plant.ts",
  wrap: "src/storage/wrap/plant.ts",
  worktree: "src/worktree/plant.ts",
  compose: "src/compose/plant.ts",
  api: "src/api/plant.ts",
  workspace: "src/workspace/plant.ts",
  replication: "src/replication/plant.ts",
  server: "src/server/plant.ts",
  mcp: "src/mcp/plant.ts",
  hooks: "src/hooks/plant.ts",
  client: "src/client/plant.ts",
  cli: "src/cli/plant.ts",
  command: "src/cli/commands/plant.ts",
} as const;

type Folder = keyof typeof FOLDERS;

/** Every pair (from, to) of folders between which there is a wall. `to` is seen from the folder of `from`. */
const WALLS: readonly (readonly [Folder, readonly string[], string])[] = [
  ["util", ["core", "disk", "storage", "worktree", "api", "workspace", "replication", "cli"], "util knows"],
  ["core", ["disk", "storage", "worktree", "api", "workspace", "replication", "server", "cli"], "core is pure"],
  ["disk", ["storage", "worktree", "api", "workspace", "replication", "cli"], "disk knows"],
  ["port", ["worktree", "api", "workspace", "replication", "cli"], "a port knows"],
  ["memory", ["worktree", "workspace", "api", "cli"], "a backend sees"],
  ["files", ["worktree", "workspace", "replication", "cli"], "a backend sees"],
  ["sqlite", ["worktree", "workspace", "api", "cli"], "a backend sees"],
  ["worktree", ["storage", "api", "workspace", "replication", "cli"], "worktree knows files only"],
  ["api", ["disk", "storage", "worktree", "workspace", "replication", "cli"], "the contract knows"],
  ["workspace", ["replication", "compose", "server", "mcp", "hooks", "client", "cli"], "the engine sees ports"],
  ["replication", ["compose", "server", "mcp", "hooks", "client", "cli"], "replication sees"],
  ["server", ["disk", "storage", "worktree", "workspace", "replication", "mcp", "cli"], "a surface speaks"],
  ["mcp", ["disk", "storage", "worktree", "workspace", "replication", "server", "cli"], "a surface speaks"],
  ["hooks", ["disk", "storage", "worktree", "workspace", "replication", "client", "cli"], "a surface speaks"],
  ["client", ["disk", "storage", "worktree", "workspace", "replication", "hooks", "cli"], "a surface speaks"],
  ["compose", ["server", "mcp", "hooks", "client", "cli"], "a composition root"],
  ["cli", ["storage", "worktree", "workspace", "replication", "compose"], "the command line speaks"],
  ["command", ["storage", "worktree", "workspace", "replication", "compose"], "the command line speaks"],
];

const BACKENDS: readonly Folder[] = ["memory", "files", "sqlite", "postgres", "s3", "wrap"];

function* walls(): Generator<Plant> {
  for (const [from, targets, message] of WALLS) {
    const up = "../".repeat(FOLDERS[from].split("/").length - 2);
    for (const to of targets) yield importing(FOLDERS[from], `${up}${to}/thing.ts`, message);
  }
  for (const [from, { message, deep }] of Object.entries(CONCRETE)) {
    for (const to of deep) yield importing(FOLDERS[from as Folder], `../${to}`, message);
  }
  for (const from of BACKENDS) {
    for (const to of BACKENDS) if (to !== from) yield importing(FOLDERS[from], `../${to}/thing.ts`, "a backend sees");
  }
  yield importing(FOLDERS.port, "./files/thing.ts", "a port knows");
  for (const [name, path] of Object.entries(FOLDERS)) {
    if (name !== "cli" && name !== "command" && name !== "compose")
      yield importing(path, `${"../".repeat(path.split("/").length - 2)}open.ts`, "");
    if (name !== "disk") yield importing(path, "node:fs", "node:fs only in disk");
    if (name !== "disk") yield importing(path, "node:fs/promises", "node:fs only in disk");
    yield importing(path, `${"../".repeat(path.split("/").length - 2)}index.ts`, "index.ts is for users");
    yield importing(path, `${"../".repeat(path.split("/").length - 2)}testing/thing.ts`, "testing is for tests");
  }
  yield importing("src/open.ts", "node:fs", "node:fs only in disk");
  yield importing("src/open.ts", "./cli/main.ts", "a composition root");
  yield importing("src/verify.ts", "./workspace/thing.ts", "the standalone verifier");
}

/** The engine and replication may see the ports, and none of what stands behind them. */
const CONCRETE: Partial<Record<Folder, { message: string; deep: readonly string[] }>> = {
  workspace: {
    message: "the engine sees ports",
    deep: ["storage/files/thing.ts", "storage/memory/thing.ts", "worktree/disk-worktree.ts", "disk/node-disk.ts"],
  },
  replication: {
    message: "replication sees",
    deep: ["storage/sqlite/thing.ts", "worktree/scan.ts", "disk/sim-disk.ts"],
  },
};

const body = (statement: string) => `export function f(x: unknown) {\n  ${statement}\n  return x;\n}\n`;
const lines = (count: number) => "// a line\n".repeat(count);
/** Lines of code: the file cap counts neither comments nor blank lines. */
const codeLines = (count: number) => Array.from({ length: count }, (_, i) => `export const a${i} = 1;\n`).join("");

const HABITS: readonly Plant[] = [
  { path: FOLDERS.core, source: body('process.stdout.write("x");'), rule: "eslint(no-restricted-globals)" },
  { path: FOLDERS.core, source: body("x = Date.now();"), rule: "eslint(no-restricted-properties)" },
  { path: FOLDERS.core, source: body("x = Math.random();"), rule: "eslint(no-restricted-properties)" },
  importing("src/other/plant.ts", "../cli/main.ts", "only bin starts the command line"),
  importing("src/other/plant.ts", "node:fs", "node:fs only in disk"),
  {
    path: FOLDERS.disk,
    source: 'import { join } from "path";\nexport const j = join;\n',
    rule: "unicorn(prefer-node-protocol)",
  },
  { path: FOLDERS.api, source: "export namespace n {\n  export const a = 1;\n}\n", rule: "typescript(no-namespace)" },
  { path: FOLDERS.api, source: body("let y = x; return y;"), rule: "eslint(prefer-const)" },
  { path: FOLDERS.api, source: body("if (x) { ".repeat(5) + "x = 1;" + " }".repeat(5)), rule: "eslint(max-depth)" },
  { path: FOLDERS.api, source: 'export { self } from "./plant.ts";\n', rule: "import(no-self-import)" },
  importing(FOLDERS.core, "node:http", "core is pure"),
  importing(FOLDERS.core, "node:net", "core is pure"),
  importing(FOLDERS.core, "node:worker_threads", "core is pure"),
  {
    path: FOLDERS.core,
    source: 'import { randomUUID } from "node:crypto";\nexport const id = randomUUID();\n',
    rule: IMPORTS,
  },
  { path: FOLDERS.workspace, source: body('console.log("x");'), rule: "eslint(no-console)" },
  { path: FOLDERS.workspace, source: body('x = process.env["HOME"];'), rule: "node(no-process-env)" },
  { path: FOLDERS.workspace, source: 'import { env } from "node:process";\nexport const e = env;\n', rule: IMPORTS },
  {
    path: FOLDERS.files,
    source: 'import { homedir } from "node:os";\nexport const home = homedir();\n',
    rule: IMPORTS,
    message: "the home folder is known only in cli",
  },
  { path: FOLDERS.server, source: body("process.exit(1);"), rule: "unicorn(no-process-exit)" },
  { path: FOLDERS.api, source: "export default 1;\n", rule: "import(no-default-export)" },
  { path: FOLDERS.api, source: "export const a = (x: any) => String(x);\n", rule: "typescript(no-explicit-any)" },
  { path: FOLDERS.api, source: "export const a = 1 as any;\n", rule: "typescript(no-explicit-any)" },
  { path: FOLDERS.api, source: "// @ts-ignore\nexport const a: number = 1;\n", rule: "typescript(ban-ts-comment)" },
  { path: FOLDERS.api, source: codeLines(501), rule: "eslint(max-lines)" },
  { path: "src/core/plant.test.ts", source: codeLines(601), rule: "eslint(max-lines)" },
  { path: FOLDERS.api, source: body(lines(60)), rule: "eslint(max-lines-per-function)" },
  {
    path: FOLDERS.api,
    source: "export const f = (a: 1, b: 1, c: 1, d: 1, e: 1) => [a, b, c, d, e];\n",
    rule: "eslint(max-params)",
  },
  { path: FOLDERS.api, source: body("if (x === 1) x = 2;\n".repeat(25)), rule: "eslint(complexity)" },
  { path: FOLDERS.api, source: body("if (x == 1) return 2;"), rule: "eslint(eqeqeq)" },
  { path: FOLDERS.api, source: body("var y = x; x = y;"), rule: "eslint(no-var)" },
  { path: FOLDERS.api, source: body("try { JSON.parse(String(x)); } catch {}"), rule: "eslint(no-empty)" },
  {
    path: "test/plant.test.ts",
    source: 'import { it } from "vitest";\nit.only("x", () => {});\n',
    rule: "vitest(no-focused-tests)",
  },
];

/** What only a linter that knows types sees. */
const PROMISES: readonly Plant[] = [
  {
    path: FOLDERS.api,
    source: "async function f() {}\nexport const g = () => {\n  f();\n};\n",
    rule: "typescript(no-floating-promises)",
  },
  {
    path: FOLDERS.api,
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
    cpSync(join(repo, ".oxlintrc.json"), join(top, String(i), ".oxlintrc.json"));
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
  it("are seen by the linter, each by its rule and with its reason", () => {
    const plants = [...walls(), ...HABITS];
    const found = lintAll(plants.map((plant) => [plant]));
    const unseen = plants.filter((plant, i) => !found[i]?.some((finding) => bites(finding, plant)));
    expect(unseen).toEqual([]);
    expect(plants.length).toBeGreaterThan(150);
  });

  it("are seen as circles too, of values and of types", () => {
    const found = lintAll(CIRCLES);
    expect(found.map((f) => f.map((finding) => finding.code))).toEqual(CIRCLES.map((c) => c.map((p) => p.rule)));
  });

  it("know types: a promise that nobody waits for is seen", () => {
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
  importing(FOLDERS.core, "../util/thing.ts", ""),
  importing(FOLDERS.core, "node:crypto", ""),
  importing(FOLDERS.core, "node:zlib", ""),
  importing(FOLDERS.disk, "node:fs", ""),
  importing(FOLDERS.disk, "../core/errors.ts", ""),
  importing(FOLDERS.files, "../blob-store.ts", ""),
  importing(FOLDERS.files, "../../disk/disk.ts", ""),
  importing(FOLDERS.sqlite, "node:sqlite", ""),
  importing(FOLDERS.worktree, "../disk/disk.ts", ""),
  importing(FOLDERS.workspace, "../storage/blob-store.ts", ""),
  importing(FOLDERS.workspace, "../worktree/worktree.ts", ""),
  importing(FOLDERS.workspace, "../api/thing.ts", ""),
  importing(FOLDERS.replication, "../workspace/workspace.ts", ""),
  importing(FOLDERS.server, "../api/thing.ts", ""),
  importing("src/open.ts", "./storage/files/thing.ts", ""),
  importing(FOLDERS.command, "../../open.ts", ""),
  { path: FOLDERS.cli, source: 'console.error(process.env["HOME"]);\nprocess.exit(1);\n', rule: "" },
  importing("src/core/plant.test.ts", "node:fs", ""),
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

  it("give the two commands of the README their scripts", () => {
    const { scripts } = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as { scripts: object };
    expect(Object.keys(scripts).toSorted()).toEqual(["bench", "build", "check", "prepare", "test"]);
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

/** Where interrupted operations are finished: before each change, and where one is met under the lock. */
const SETTLING = new Set([
  "workspace/before-change.ts",
  "workspace/capture.ts",
  "workspace/finish-torn.ts",
  "workspace/write-on-disk.ts",
  "replication/folder/folder-cycle.ts",
]);

it("the queue of operations settles what is open before a change; operations do not", () => {
  const src = join(repo, "src");
  const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((path) =>
    /(?<!\.test)\.ts$/.test(path),
  );
  const calls = sources.filter((path) => {
    const text = readFileSync(join(src, path), "utf8");
    return /(?<!function )\b(?:settle|closeAbandoned)\((?:this\.#)?context/.test(text);
  });
  expect(calls.filter((path) => !SETTLING.has(path))).toEqual([]);
  expect(calls).toContain("workspace/before-change.ts");
});

it("an operation that changes files is a plan for the one way to do so: none calls operate by itself", () => {
  const workspace = join(repo, "src/workspace");
  const sources = readdirSync(workspace, { recursive: true, encoding: "utf8" }).filter((path) =>
    /(?<!\.test)\.ts$/.test(path),
  );
  const calls = sources.filter((path) => /(?<!function )\boperate\(/.test(readFileSync(join(workspace, path), "utf8")));
  expect(calls).toEqual(["change-files.ts"]);
});

it("no list is handed over as arguments where its length has no bound: see src/util/long-lists.ts", () => {
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
