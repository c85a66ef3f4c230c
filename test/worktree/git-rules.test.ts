import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_FILTER, DEFAULT_LIMITS, type FilterSpec } from "../../src/core/filter/filter.ts";
import { explainPath } from "../../src/core/filter/ignore.ts";
import { decodeName, pathToBytes } from "../../src/core/values/path.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { DiskWorktree } from "../../src/worktree/disk/disk-worktree.ts";

/**
 * 150 rounds (20,000 verdicts, twice) found no difference when this was written. A few rounds are enough in each run
 * of the tests.
 */
const ROUNDS = Number(process.env["GIT_RULES_ROUNDS"] ?? 12);
const FIRST = Number(process.env["GIT_RULES_FIRST"] ?? 1);

const hasGit = spawnSync("git", ["--version"]).status === 0;

/** A small generator of numbers, so that a failing round can be run again by its seed. */
function numbers(seed: number): (below: number) => number {
  let state = (seed * 2654435761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** No two names differ only in case, because git takes such files for one if `core.ignoreCase` is set. */
const NAMES = ["a", "B", "ab", "x.c", "Y.C", "\u00e9", "a\udcff", "build", "Z", "keep"];
const FOLDERS = [
  "",
  "a/",
  "a/b/",
  "pkg/",
  "pkg/x/",
  "pkg/x/a/",
  "pkg/x/build/",
  "pkg/x/build/deep/",
  "pkg/x/a/b/",
  "pkg/y/",
];
const NESTED = ["pkg/x/nest/", "pkg/x/nest/a/", "pkg/x/nest/build/"];
const PIECES = [
  ...["a", "b", "B", "x", "y", "X", ".c", ".C", "\u00e9", "\udcff", "build", "BUILD", "pkg", "nest", "keep", "deep"],
  ...[
    "*",
    "*",
    "?",
    "**",
    "/",
    "/",
    "**/",
    "/**",
    "[a-c]",
    "[A-C]",
    "[!a]",
    "[B]",
    "[[:upper:]]",
    "\\B",
    "[\udcc0-\udcff]",
  ],
];

function line(next: (below: number) => number): string {
  let text = next(4) === 0 ? "!" : "";
  if (next(4) === 0) text += "/";
  for (let i = 1 + next(4); i > 0; i -= 1) text += PIECES[next(PIECES.length)] ?? "";
  return next(4) === 0 ? `${text}/` : text;
}

function rules(next: (below: number) => number): string {
  return `${Array.from({ length: next(4) }, () => line(next)).join("\n")}\n`;
}

describe.skipIf(!hasGit)("where rules come from, against git (skipped where git is not installed)", () => {
  let base = "";
  let top = "";
  const all = [...FOLDERS, ...NESTED].flatMap((folder) => NAMES.map((name) => `${folder}${name}`));
  // No folder has the name of a file.
  const files = all.filter((path) => ![...FOLDERS, ...NESTED].some((folder) => folder === `${path}/`));

  function write(path: string, content: string): void {
    const full = path.startsWith("/") ? path : join(top, path);
    mkdirSync(pathToBytes(dirname(full)), { recursive: true });
    writeFileSync(pathToBytes(full), pathToBytes(content));
  }

  function git(args: readonly string[], input?: Buffer, cwd = top): Buffer {
    const env = {
      CI: "true",
      PATH: process.env["PATH"],
      HOME: base,
      XDG_CONFIG_HOME: join(base, "config"),
      GIT_CONFIG_NOSYSTEM: "1",
    };
    return execFileSync("git", args, { cwd, env, input: input ?? "", stdio: ["pipe", "pipe", "ignore"] });
  }

  function listed(bytes: Buffer): string[] {
    const found: string[] = [];
    for (let from = 0; from < bytes.length;) {
      const end = bytes.indexOf(0, from);
      found.push(decodeName(bytes.subarray(from, end)));
      from = end + 1;
    }
    return found;
  }

  function gitSees(folder: string): Set<string> {
    const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const own = listed(git(args, undefined, join(top, folder)));
    const nested = own.filter((path) => path.endsWith("/"));
    const inner = nested.flatMap((at) => [...gitSees(join(folder, at))].map((path) => at + path));
    return new Set([...own.filter((path) => !path.endsWith("/")), ...inner]);
  }

  beforeAll(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-git-rules-")));
    top = join(base, "repo");
    for (const folder of ["", "pkg/x/nest"]) execFileSync("git", ["init", "-q", join(top, folder)]);
    for (const file of files) write(file, "");
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  /** Adds a part of the paths to the index of a repository, whatever its rules say. */
  function track(folder: string, next: (below: number) => number): void {
    const own = files.filter((path) => (folder === "" ? !path.includes("/nest/") : path.startsWith(folder)));
    const some = own.filter(() => next(6) === 0).map((path) => path.slice(folder.length));
    const cwd = join(top, folder);
    rmSync(join(cwd, ".git/index"), { force: true });
    const version = String(2 + next(3));
    const input = Buffer.concat(some.flatMap((path) => [pathToBytes(path), Buffer.from([0])]));
    git(["-c", `index.version=${version}`, "update-index", "-z", "--add", "--stdin"], input, cwd);
  }

  function sources(next: (below: number) => number): string[] {
    const places = [".gitignore", "pkg/.gitignore", "pkg/x/.gitignore", "pkg/x/a/.gitignore", "pkg/x/nest/.gitignore"];
    const beside = [
      ".git/info/exclude",
      "pkg/x/nest/.git/info/exclude",
      join(base, "config/git/ignore"),
      "pkg/x/build/.gitignore",
    ];
    const some = [...places, ...beside].filter(() => next(3) > 0);
    for (const place of some) write(place, rules(next));
    return some;
  }

  async function look(worktree: DiskWorktree): Promise<{ paths: Set<string>; filter: FilterSpec | undefined }> {
    const paths = new Set<string>();
    const report = await worktree.scan({}, (batch) => {
      for (const { path, stat } of batch) if (stat.kind !== "dir") paths.add(path);
    });
    expect(report.unapplied).toEqual([]);
    return { paths, filter: report.filters[0] };
  }

  async function round(seed: number): Promise<string[]> {
    const next = numbers(seed);
    for (const folder of ["", "pkg/x/nest"])
      git(["config", "core.ignoreCase", String(next(4) === 0)], undefined, join(top, folder));
    const written = sources(next);
    track("", next);
    track("pkg/x/nest/", next);
    const root = next(3) === 0 ? "" : next(2) === 0 ? "pkg" : "pkg/x";
    const isHidden =
      root !== "" && git(["ls-files", "-z", "--others", "--directory", "--ignored", "--exclude-standard"]).length > 0;
    const folder = join(top, root);
    const options = {
      disk: new NodeDisk(),
      cacheFile: join(base, "cache"),
      staging: undefined,
      storeFolders: [],
      clock: Date.now,
    };
    const tracked = { id: undefined, folder, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
    const user = { home: base, configHome: join(base, "config"), uid: process.geteuid?.() };
    const worktree = new DiskWorktree({ ...options, roots: [tracked], git: user });
    const wrong: string[] = [];
    try {
      const hidden =
        isHidden &&
        spawnSync("git", ["check-ignore", "-q", "--no-index", root], {
          cwd: top,
          env: { CI: "true", PATH: process.env["PATH"], HOME: base, XDG_CONFIG_HOME: join(base, "config") },
        }).status === 0;
      // A folder that its repository leaves out as a whole is tracked all the same, so git has nothing to compare it
      // with.
      if (hidden) return [];
      const theirs = gitSees(root);
      const { paths, filter } = await look(worktree);
      const here = files
        .filter((path) => path.startsWith(root === "" ? "" : `${root}/`))
        .map((path) => path.slice(root === "" ? 0 : root.length + 1));
      for (const path of here) {
        const said = filter !== undefined && explainPath(filter, path, false).tracked;
        if (paths.has(path) !== theirs.has(path))
          wrong.push(
            `seed ${seed}: ${root}: ${JSON.stringify(path)} walked ${paths.has(path)}, git ${theirs.has(path)}`,
          );
        if (said !== theirs.has(path))
          wrong.push(`seed ${seed}: ${root}: ${JSON.stringify(path)} recorded as ${said}, git ${theirs.has(path)}`);
      }
      return wrong;
    } finally {
      await worktree.close();
      for (const place of written) rmSync(place.startsWith("/") ? place : join(top, place));
    }
  }

  it("takes exactly what git takes, in a walk and by the recorded filter", async () => {
    const wrong: string[] = [];
    for (let seed = FIRST; seed < FIRST + ROUNDS && wrong.length === 0; seed += 1) wrong.push(...(await round(seed)));
    expect(wrong.slice(0, 3)).toEqual([]);
  });
});
