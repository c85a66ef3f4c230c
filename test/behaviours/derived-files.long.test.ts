import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { parsePath } from "../../src/core/values/path.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { open } from "../../src/open.ts";
import { loadStatCache, saveStatCache } from "../../src/worktree/scan/stat-cache-file.ts";
import { Project } from "../helpers/project.ts";

/** Derived files (indexes and caches) may be lost, damaged or old at any time: no answer changes. */

type Lived = Project & { id: string };

/** A project with a history of every kind of operation. */
async function lived(): Promise<Lived> {
  const project = Object.assign(new Project(), { id: "" });
  project.write("a.txt", "one\n");
  project.write("dir/b.txt", "two\n");
  project.write("gone.txt", "soon gone\n");
  project.write(".gitignore", "*.log\n");
  project.write("debug.log", "ignored\n");
  project.link("link", "a.txt");
  mkdirSync(project.at("empty"));
  const workspace = await project.init();
  project.id = workspace.id;
  project.write("a.txt", "one more\n");
  project.remove("gone.txt");
  await workspace.snapshot({ name: "named", message: "with a message", pin: true });
  await workspace.run({ command: ["sh", "-c", "echo new > dir/c.txt; chmod 600 a.txt; rm -r empty"], notes: ["n"] });
  await workspace.restore("baseline", { paths: ["a.txt", "gone.txt"] });
  await workspace.undo();
  await workspace.redo();
  project.write("dir/b.txt", "not recorded yet\n");
  await workspace.close();
  return project;
}

/** Opens the workspace with its own store, so that closing the workspace closes every file. */
function openWhole({ home, configFolder, folder }: Project, create = false): Promise<WorkspaceApi> {
  return open({ home, configFolder, folder, create, waitMs: 5_000 });
}

/** Every answer that does not depend on the time of asking. */
async function answers(workspace: WorkspaceApi): Promise<Record<string, unknown>> {
  const snapshots = await workspace.snapshots();
  const moments = ["baseline", "named", "latest", "latest~1", ...snapshots.slice(0, 3).map((one) => one.id)];
  const manifests: Record<string, unknown> = {};
  for (const moment of moments) manifests[moment] = await workspace.manifest(moment);
  const paths = ["a.txt", "dir/b.txt", "dir/c.txt", "gone.txt", "link", "empty"];
  const histories: Record<string, unknown> = {};
  for (const path of paths) histories[path] = await workspace.history(path);
  // `verify` may report a wrong index. This is the only allowed difference.
  const { events, problems: found } = await workspace.verify();
  const problems = found.filter((one) => one.kind !== "index-wrong");
  const { status, head } = { status: await workspace.status(), head: await workspace.head() };
  return {
    ...{ snapshots, manifests, histories, status, head, verified: { events, problems } },
    log: await workspace.log(),
    newest: await workspace.log({ reverse: true, limit: 3, prefix: "file:" }),
    diffs: [
      await workspace.diff("0", "latest", { patch: true }),
      await workspace.diff("latest", "0"),
      await workspace.diff("named", "now", { patch: true }),
    ],
    dry: await workspace.restore("0", { dryRun: true }),
    undo: await workspace.undo({ dryRun: true }),
    operations: await workspace.operations(),
    recent: await workspace.recent(),
    sessions: await workspace.sessions(),
    found: [await workspace.find("b.txt"), await workspace.find("gone.txt"), await workspace.find("nothing")],
    explained: [await workspace.explain("a.txt"), await workspace.explain("debug.log")],
    config: await workspace.config(),
    cat: await contentOf(workspace, "a.txt", 1),
  };
}

async function contentOf(workspace: WorkspaceApi, path: string, iteration: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of (await workspace.cat(path, iteration)).pieces()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

interface Files {
  readonly folder: string;
  /** Copies made before the last piece of work. */
  readonly old: string;
  readonly blobs: string;
  readonly home: string;
}

const index = ["index.db", "index.db-wal", "index.db-shm"];
const drop = (folder: string, names: readonly string[]): void =>
  names.forEach((name) => rmSync(join(folder, name), { force: true, recursive: true }));

/** Overwrites some bytes all over a file. */
function garble(path: string, step: number): void {
  const bytes = readFileSync(path);
  for (let at = step >> 1; at < bytes.length; at += step) bytes.fill(0x5a, at, Math.min(at + 24, bytes.length));
  writeFileSync(path, bytes);
}

const troubles: readonly [string, (files: Files) => void][] = [
  ["the index is deleted", ({ folder }) => drop(folder, index)],
  ["the index is empty", ({ folder }) => writeFileSync(join(folder, "index.db"), "")],
  ["the index is no database", ({ folder }) => writeFileSync(join(folder, "index.db"), "x".repeat(9_000))],
  [
    "the index is cut",
    ({ folder }) => writeFileSync(join(folder, "index.db"), readFileSync(join(folder, "index.db")).subarray(0, 8_192)),
  ],
  ["the index is garbled here and there", ({ folder }) => garble(join(folder, "index.db"), 4_096)],
  [
    "the index is garbled in its middle",
    ({ folder }) => garble(join(folder, "index.db"), statSync(join(folder, "index.db")).size),
  ],
  [
    "the index is older",
    ({ folder, old }) => {
      drop(folder, index);
      copyFileSync(join(old, "index.db"), join(folder, "index.db"));
    },
  ],
  ["stat.cache is deleted", ({ folder }) => drop(folder, ["stat.cache"])],
  ["stat.cache is empty", ({ folder }) => writeFileSync(join(folder, "stat.cache"), "")],
  ["stat.cache is garbled", ({ folder }) => garble(join(folder, "stat.cache"), 128)],
  [
    "stat.cache is cut",
    ({ folder }) => writeFileSync(join(folder, "stat.cache"), readFileSync(join(folder, "stat.cache")).subarray(0, -9)),
  ],
  ["stat.cache is older", ({ folder, old }) => copyFileSync(join(old, "stat.cache"), join(folder, "stat.cache"))],
  ["the blob index is deleted", ({ blobs }) => drop(blobs, index)],
  ["the blob index is garbled", ({ blobs }) => garble(join(blobs, "index.db"), 4_096)],
  ["the list of workspaces is deleted", ({ home }) => drop(home, ["cache"])],
  ["the list of workspaces is garbled", ({ home }) => writeFileSync(join(home, "cache/roots.json"), "[{]")],
  [
    "all of it is gone",
    ({ folder, blobs, home }) => {
      drop(folder, [...index, "stat.cache"]);
      drop(blobs, index);
      drop(home, ["cache"]);
    },
  ],
  ["the whereabouts are deleted", ({ folder }) => drop(folder, ["whereabouts.json"])],
  ["the whereabouts are empty", ({ folder }) => writeFileSync(join(folder, "whereabouts.json"), "")],
  ["the whereabouts are garbled", ({ folder }) => garble(join(folder, "whereabouts.json"), 40)],
];

describe("no answer changes when", () => {
  let project: Lived;
  let folder: string;
  const old = (): string => join(project.base, "old");
  beforeAll(async () => {
    project = await lived();
    folder = join(project.home, "workspaces", project.id);
    mkdirSync(old());
  });
  afterAll(() => project[Symbol.asyncDispose]());

  it.each(troubles)("%s", async (name, trouble) => {
    for (const file of ["index.db", "stat.cache"]) copyFileSync(join(folder, file), join(old(), file));
    const before = await openWhole(project);
    project.write("added", `${name}\n`);
    await before.snapshot();
    project.write("dir/b.txt", `not recorded yet: ${name}\n`);
    const wanted = await answers(before);
    await before.close();

    trouble({ folder, old: old(), blobs: join(project.home, "blobs"), home: project.home });
    const after = await openWhole(project);
    expect(await answers(after)).toEqual(wanted);
    expect(wanted["verified"]).toMatchObject({ problems: [] });
    project.write("dir/b.txt", `recorded: ${name}\n`);
    expect(await after.snapshot()).toMatchObject({ changed: 1 });
    await after.close();
  });

  it("the index is one of any earlier time", async () => {
    await using other = new Project();
    const paths = ["a.txt", "dir/b.txt", "dir/c.txt", "gone.txt", "link", "empty"];
    for (const path of paths) other.write(path, `first ${path}`);
    other.write("debug.log", "x");
    const first = await openWhole(other, true);
    const of = join(other.home, "workspaces", first.id);
    await first.snapshot({ name: "named" });
    await first.close();
    const steps: ((workspace: WorkspaceApi) => Promise<unknown>)[] = [
      (workspace) => workspace.run({ command: ["sh", "-c", "rm -r dir; echo 2 > a.txt"] }),
      (workspace) => workspace.undo(),
      (workspace) => workspace.restore("0"),
      (workspace) => workspace.record(["a.txt"]),
      (workspace) => workspace.run({ command: ["sh", "-c", "rm gone.txt"] }),
    ];
    for (const [i, step] of steps.entries()) {
      copyFileSync(join(of, "index.db"), join(other.base, `index.${i}`));
      const workspace = await openWhole(other);
      await step(workspace);
      await workspace.close();
    }
    const now = await openWhole(other);
    const wanted = await answers(now);
    await now.close();
    for (const i of steps.keys()) {
      drop(of, index);
      copyFileSync(join(other.base, `index.${i}`), join(of, "index.db"));
      const again = await openWhole(other);
      expect(await answers(again)).toEqual(wanted);
      await again.close();
    }
  });

  it("the index of an open workspace is rebuilt or removed", async () => {
    const workspace = await openWhole(project);
    const wanted = await answers(workspace);
    expect(await workspace.rebuild()).toMatchObject({ events: (await workspace.log()).length });
    expect(await answers(workspace)).toEqual(wanted);
    drop(folder, index);
    const other = await openWhole(project);
    expect(await answers(other)).toEqual(wanted);
    await other.close();
    await workspace.close();
  });
});

describe("paranoid", () => {
  it("an edit with the old size and time is found even without `paranoid`, by its change time", async () => {
    await using project = new Project();
    const old = (): void => utimesSync(project.at("a"), 1_600_000_000, 1_600_000_000);
    project.write("a", "aaaa");
    old();
    const workspace = await project.init();
    project.write("a", "AAAA");
    old();
    expect((await workspace.status()).changes.map((change) => change.path)).toEqual(["a"]);
    expect(await workspace.snapshot()).toMatchObject({ changed: 1 });
  });

  it("finds an edit that a wrong stat cache hides", async () => {
    await using project = new Project();
    project.write("a", "before");
    const workspace = await openWhole(project, true);
    await workspace.close();

    // Makes the cache claim that the edited file has the recorded content.
    project.write("a", "edited");
    const disk = new NodeDisk();
    const file = join(project.home, "workspaces", workspace.id, "stat.cache");
    const kept = loadStatCache(disk, file) ?? expect.fail("there is no cache");
    const known = kept.cache.get(parsePath("a")) ?? expect.fail("the cache does not know the file");
    const stat = disk.lstat(project.at("a")) ?? expect.fail("there is no file");
    kept.cache.restore({ ...known, stat, racy: false });
    saveStatCache(disk, file, kept);

    const lied = await openWhole(project);
    expect((await lied.status()).changes).toEqual([]);
    expect(await lied.snapshot()).toMatchObject({ changed: 0 });
    expect(await lied.snapshot({ paranoid: true })).toMatchObject({ changed: 1 });
    expect((await lied.manifest("latest")).files["a"]?.hash).toBe(sha256("edited"));
    expect(await lied.snapshot({ paranoid: true })).toMatchObject({ changed: 0 });
    expect(await lied.verify()).toMatchObject({ ok: true });
    await lied.close();
  });
});

describe("a read-only open", () => {
  const derived = /(^|\/)(index\.db|gc\.db|lock\.db)|stat\.cache|(^|\/)cache\//;

  /** Every file that is not derived, and its bytes. */
  function authoritative(project: Project): Record<string, string> {
    const found: Record<string, string> = {};
    for (const folder of [project.home, project.configFolder]) {
      if (!existsSync(folder)) continue;
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        const path = join(folder, name);
        if (derived.test(name) || !statSync(path).isFile()) continue;
        found[path] = createHash("sha256").update(readFileSync(path)).digest("hex");
      }
    }
    return found;
  }

  it("gives all answers, and writes only derived files", async () => {
    await using project = await lived();
    const before = authoritative(project);
    const tree = project.tree();
    const workspace = await project.open({ readOnly: true });
    await answers(workspace);
    await workspace.close();
    expect(authoritative(project)).toEqual(before);
    expect(project.tree()).toEqual(tree);
  });

  it("does not repair a torn tail", async () => {
    await using project = await lived();
    const folder = join(project.home, "workspaces", project.id);
    // A torn tail.
    writeFileSync(join(folder, "events.wal"), '{"hash":"torn', { flag: "a" });
    const before = authoritative(project);
    const workspace = await project.open({ readOnly: true });
    await answers(workspace);
    await workspace.close();
    expect(authoritative(project)).toEqual(before);
  });

  it("refuses to change anything", async () => {
    await using project = await lived();
    const workspace = await project.open({ readOnly: true });
    const changing: (() => Promise<unknown>)[] = [
      () => workspace.snapshot(),
      () => workspace.record(["a.txt"]),
      () => workspace.restore("0"),
      () => workspace.undo(),
      () => workspace.redo(),
      () => workspace.run({ command: ["touch", project.at("never")] }),
      () => workspace.watch(),
      () => workspace.configure({ maxBytes: 0 }),
      () => workspace.gc(),
      () => workspace.rebuild(),
    ];
    const before = authoritative(project);
    for (const change of changing)
      await expect(change()).rejects.toMatchObject({ code: "READ_ONLY", hint: expect.any(String) });
    expect(authoritative(project)).toEqual(before);
    expect(existsSync(project.at("never"))).toBe(false);
    await workspace.restore("0", { to: join(project.base, "elsewhere") });
    expect(readFileSync(join(project.base, "elsewhere/a.txt"), "utf8")).toBe("one\n");
  });
});
