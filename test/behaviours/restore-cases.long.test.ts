import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { decodePlan } from "../../src/core/tree/plan.ts";
import { parsePath } from "../../src/core/values/path.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { Project } from "../helpers/project.ts";
import { background, canMount, contentOf, inMountSpace, isRoot, isSound } from "../helpers/trouble.ts";

/** Failures while files are restored, on the real disk: the rows R1 to R15 of `failure-cases.test.ts`. */

const tools = mkdtempSync(join(tmpdir(), "chronicle-tools-"));
afterAll(() => rmSync(tools, { recursive: true, force: true }));

/** Returns a program that exchanges two paths in a loop, or `undefined` if there is no compiler. */
function exchanger(): string | undefined {
  const binary = join(tools, "exchange");
  if (existsSync(binary)) return binary;
  const source = join(dirname(import.meta.dirname), "helpers", "exchange.c");
  return spawnSync("gcc", ["-O2", "-o", binary, source], { stdio: "ignore" }).status === 0 ? binary : undefined;
}

/** Exchanges two paths as fast as possible until it is disposed. Without a compiler, a Node process does this. */
async function exchanging(a: string, b: string): Promise<Disposable> {
  const binary = exchanger();
  if (binary === undefined) {
    return background(
      `const [a, b] = args; const c = a + ".tmp";
       for (;;) { attempt(() => fs.renameSync(a, c)); attempt(() => fs.renameSync(b, a)); attempt(() => fs.renameSync(c, b)); }`,
      a,
      b,
    );
  }
  const child = spawn(binary, [a, b], { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  return { [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

/** Waits until a killed program has ended, so that the paths no longer move. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe("restore", () => {
  it("R1 a folder that is exchanged with a link again and again never leads to a read or write outside", async () => {
    await using project = new Project();
    const outside = join(project.base, "outside");
    mkdirSync(join(outside, "deep"), { recursive: true });
    for (let i = 0; i < 20; i += 1) {
      project.write(`d/deep/f${i}`, `inside ${i}\n`);
      writeFileSync(join(outside, `deep/f${i}`), `OUTSIDE ${i}\n`);
    }
    const workspace = await project.init();
    const untouched = project.tree(outside);
    const link = join(project.base, "link");
    symlinkSync(outside, link);
    let done = 0;
    {
      using _attacker = await exchanging(project.at("d"), link);
      for (let i = 0; i < 20; i += 1) {
        try {
          await workspace.restore(i % 2 === 0 ? "baseline" : "latest", { force: i % 3 === 0 });
          done += 1;
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(REFUSED|IO|NOT_FOUND)$/) });
        }
        try {
          for (const name of ["f1", "f2"]) writeFileSync(project.at(`d/deep/${name}`), `inside edited ${i}\n`);
        } catch (error) {
          if (!(error instanceof Error && "code" in error)) throw error;
        }
        for (const name of ["f1", "f2"]) writeFileSync(join(outside, "deep", name), `OUTSIDE ${name.slice(1)}\n`);
        await workspace.snapshot();
      }
    }
    await settled();
    expect(project.tree(outside)).toEqual(untouched);
    expect(done).toBeGreaterThan(0);
    for (const path of Object.keys((await workspace.manifest("latest")).files)) {
      for (const one of await workspace.history(path)) {
        if (one.deleted === true || one.kind !== "file") continue;
        expect((await contentOf(workspace, path, one.iteration)).toString()).not.toContain("OUTSIDE");
      }
    }
    expect(await isSound(workspace)).toEqual([]);
  });

  it("R1 a parent that has become a link is restored as a folder, and nothing outside is written", async () => {
    await using project = new Project();
    project.write("d/file", "inside\n");
    const workspace = await project.init();
    const outside = join(project.base, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "file"), "OUTSIDE\n");
    renameSync(project.at("d"), join(project.base, "away"));
    symlinkSync(outside, project.at("d"));
    await workspace.restore("baseline");
    expect(lstatSync(project.at("d")).isDirectory()).toBe(true);
    expect(project.read("d/file")).toBe("inside\n");
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("OUTSIDE\n");
  });

  it.each([
    ["..", "../x"],
    ["inside", "a/../../x"],
    ["absolute", "/etc/x"],
    ["a dot", "a/./b"],
    ["NUL", "a\0b"],
    ["a slash at the end", "a/"],
    ["two slashes", "a//b"],
  ])("R2 R3 a path with %s is refused by the parser of paths, also in a plan", (_, path) => {
    expect(() => parsePath(path)).toThrow(expect.objectContaining({ code: "PATH_INVALID" }) as Error);
    const state = { kind: "file", mode: 420, size: 0, mtime_ms: 0, hash: "0".repeat(64) };
    const plan = Buffer.from(JSON.stringify([{ after: null, before: state, path }]));
    expect(() => decodePlan(plan)).toThrow();
  });

  it("R4 what was edited since the last snapshot is captured before a restore, and undo brings it back", async () => {
    await using project = new Project();
    project.write("a", "one\n");
    const workspace = await project.init();
    project.write("a", "never recorded\n");
    project.write("new/deep", Buffer.from([0, 255, 10, 13]));
    const edited = project.tree();
    const { undo_id: id } = await workspace.restore("baseline");
    expect(project.tree()).toEqual({ a: expect.stringContaining("file") as string });
    const { undo_id: again } = await workspace.undo({ operation: id ?? "" });
    expect(again).not.toBeNull();
    expect(project.tree()).toEqual(edited);
  });

  it("R8 every change of kind is restored, undone and redone", async () => {
    await using project = new Project();
    const kinds: Record<string, (path: string) => void> = {
      file: (path) => project.write(path, `file ${path}`),
      dir: (path) => project.write(`${path}/inner/leaf`, "leaf"),
      empty: (path) => mkdirSync(project.at(path), { recursive: true }),
      link: (path) => project.link(path, "elsewhere"),
      none: () => undefined,
    };
    const pairs = Object.keys(kinds).flatMap((from) => Object.keys(kinds).map((to) => [from, to] as const));
    for (const [from, to] of pairs) kinds[from]?.(`${from}-${to}`);
    const workspace = await project.init();
    const before = project.tree();
    for (const [from, to] of pairs) {
      project.remove(`${from}-${to}`);
      kinds[to]?.(`${from}-${to}`);
    }
    const after = project.tree();
    await workspace.restore("baseline");
    expect(project.tree()).toEqual(before);
    await workspace.undo();
    expect(project.tree()).toEqual(after);
    await workspace.redo();
    expect(project.tree()).toEqual(before);
    expect((await workspace.status()).changes).toEqual([]);
  });

  it("R8 a folder with files that are not recorded is not removed, and the other changes are made", async () => {
    await using project = new Project();
    project.write(".gitignore", "*.o\n");
    project.write("a", "1");
    const workspace = await project.init();
    project.write("made/src.c", "source");
    project.write("made/deep/src.d", "source");
    project.write("made/deep/out.o", "ignored, never recorded");
    project.write("other", "x");
    project.write("a", "2");
    await workspace.snapshot();
    const restored = await workspace.restore("baseline").catch((error: unknown) => error);
    expect(project.read("made/deep/out.o")).toBe("ignored, never recorded");
    if (restored instanceof Error) {
      expect(restored).toMatchObject({ code: "REFUSED" });
      await workspace.restore("baseline", { force: true });
    }
    expect(project.read("made/deep/out.o")).toBe("ignored, never recorded");
    expect(project.read("a")).toBe("1");
    expect([existsSync(project.at("other")), existsSync(project.at("made/src.c"))]).toEqual([false, false]);
  });

  it("R8 a file back in place of a folder with ignored files is refused, or skipped with --force", async () => {
    await using project = new Project();
    project.write(".gitignore", "*.o\n");
    project.write("x", "a file");
    project.write("y", "1");
    const workspace = await project.init();
    project.remove("x");
    project.write("x/out.o", "ignored");
    project.write("x/src", "source");
    project.write("y", "2");
    await expect(workspace.restore("baseline")).rejects.toMatchObject({ code: "REFUSED" });
    expect([project.read("x/out.o"), project.read("x/src"), project.read("y")]).toEqual(["ignored", "source", "2"]);
    const forced = await workspace.restore("baseline", { force: true });
    expect(forced.skipped.map((one) => one.path)).toContain("x");
    expect([project.read("x/out.o"), project.read("y")]).toEqual(["ignored", "1"]);
  });

  it("R9 files that are the same keep inode and times", async () => {
    await using project = new Project();
    for (let i = 0; i < 20; i += 1) project.write(`d/${i}`, `${i}`);
    const workspace = await project.init();
    const looks = () =>
      readdirSync(project.at("d"))
        .filter((name) => name !== "7")
        .map((name) => {
          const { ino, mtimeNs, ctimeNs } = statSync(project.at(`d/${name}`), { bigint: true });
          return [name, ino, mtimeNs, ctimeNs];
        });
    const before = looks();
    project.write("d/7", "edited");
    await workspace.restore("baseline");
    expect(looks()).toEqual(before);
    expect(project.read("d/7")).toBe("7");
  });

  it("R10 a content that is damaged in the store blocks a restore before any change; --force skips only its file", async () => {
    await using project = new Project();
    project.write("a", "content of a\n");
    project.write("b", "content of b\n");
    const workspace = await project.init();
    await workspace.close();
    project.write("a", "edited a\n");
    project.write("b", "edited b\n");
    const { blobs } = storeLayout(project.home);
    const pack = blobs.activePack(0);
    const bytes = readFileSync(pack);
    const at = bytes.lastIndexOf("content of a\n");
    if (at < 0) throw new Error("the test looks for bytes that are stored as they are");
    bytes[at] = 0x58;
    writeFileSync(pack, bytes);
    const again = await project.open();
    await expect(again.restore("baseline")).rejects.toMatchObject({ message: expect.stringContaining("a") as string });
    expect([project.read("a"), project.read("b")]).toEqual(["edited a\n", "edited b\n"]);
    const { problems } = await again.verify();
    expect(problems).toMatchObject([
      { kind: "blob-corrupt", detail: expect.stringContaining("a@1") as string },
      { kind: "blob-missing", where: expect.stringContaining("a@1") as string },
    ]);
    const forced = await again.restore("baseline", { force: true });
    expect(forced.skipped.map((one) => one.path)).toEqual(["a"]);
    expect([project.read("a"), project.read("b")]).toEqual(["edited a\n", "content of b\n"]);
  });

  it("R11 somebody who keeps writing finds the last version in the history, on disk or in a conflict copy", async () => {
    await using project = new Project();
    project.write("shared", "base\n");
    const workspace = await project.init();
    const written = join(project.base, "written");
    {
      using _editor = await background(
        `const [at, list] = args;
         for (let i = 0; ; i++) {
           const text = "edit " + i + "\\n";
           fs.writeFileSync(at + ".save", text);
           fs.renameSync(at + ".save", at);
           fs.appendFileSync(list, text);
           Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3);
         }`,
        project.at("shared"),
        written,
      );
      for (let i = 0; i < 12; i += 1) {
        await workspace.restore("baseline").catch((error: unknown) => {
          expect(error).toMatchObject({ code: "REFUSED" });
        });
      }
    }
    await settled();
    await workspace.snapshot();
    expect(await isSound(workspace)).toEqual([]);
    // The editor's last version is on disk, was captured before it was replaced, or is in a conflict copy.
    const last = readFileSync(written, "utf8").trimEnd().split("\n").at(-1) ?? "";
    const kept = new Set<string>();
    for (const name of readdirSync(project.folder)) kept.add(readFileSync(project.at(name), "utf8"));
    for (const { iteration, deleted } of await workspace.history("shared")) {
      if (deleted === true) continue;
      kept.add((await contentOf(workspace, "shared", iteration)).toString());
    }
    // The editor may have been killed after it saved the next version and before it noted that.
    const next = `edit ${Number(last.slice("edit ".length)) + 1}`;
    expect([last, next].filter((text) => kept.has(`${text}\n`))).not.toEqual([]);
  });

  it("R12 taking back a run undoes its creations, moves and overwriting moves", async () => {
    await using project = new Project();
    project.write("from", "moved\n");
    project.write("over", "overwritten\n");
    project.write("dir/a", "a");
    const workspace = await project.init();
    const before = project.tree();
    const ran = await workspace.run({
      command: ["sh", "-c", "echo x > created; mv from over; mv dir moved; mkdir dir; echo b > dir/b"],
    });
    expect(ran.exit_code).toBe(0);
    await workspace.undo();
    expect(project.tree()).toEqual(before);
  });

  it("an undo that has nothing to change counts as done, and the next undo goes further back", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    await workspace.run({ command: ["sh", "-c", "printf 1 > a"] });
    await workspace.run({ command: ["sh", "-c", "printf 2 > a"] });
    project.write("a", "1");
    expect(await workspace.undo()).toMatchObject({
      changes: [],
      skipped: [],
      operation: { summary: "sh -c 'printf 2 > a'" },
    });
    await workspace.undo();
    expect(project.read("a")).toBe("0");
    await workspace.redo();
    expect(project.read("a")).toBe("1");
  });

  it("R15 set-id, sticky and world-writable modes of a run: redo does not set the special bits", async () => {
    await using project = new Project();
    project.write("tool", "t", 0o755);
    const workspace = await project.init();
    const ran = await workspace.run({ command: ["sh", "-c", "chmod 6755 tool; echo x > w; chmod 1666 w"] });
    expect(ran.changes.map((one) => one.after_permissions)).toEqual([0o6755, 0o1666]);
    await workspace.undo();
    expect(statSync(project.at("tool")).mode & 0o7777).toBe(0o755);
    await workspace.redo();
    expect(statSync(project.at("tool")).mode & 0o7777).toBe(0o755);
    expect(statSync(project.at("w")).mode & 0o7777).toBe(0o666);
    expect((await workspace.status()).changes).toEqual([]);
    await workspace.undo();
    expect(existsSync(project.at("w"))).toBe(false);
  });

  it("R7 a folder that may not be written is made writable for a restore, and has its old mode afterwards", async () => {
    await using project = new Project();
    project.write("ro/a", "one", 0o444);
    chmodSync(project.at("ro"), 0o555);
    const workspace = await project.init();
    const before = project.tree();
    chmodSync(project.at("ro"), 0o755);
    project.remove("ro/a");
    project.write("ro/b", "two");
    chmodSync(project.at("ro"), 0o555);
    await workspace.restore("baseline");
    expect(project.tree()).toEqual(before);
    chmodSync(project.at("ro"), 0o755);
  });
});

describe("restore without permissions", () => {
  it.skipIf(!isRoot)("R7 as a user without rights, restore and undo work in read-only folders", () => {
    inMountSpace(
      `
      mkdir -p p/ro && echo one > p/ro/a && chmod 444 p/ro/a && chmod 555 p/ro && echo x > p/x
      chronicle -C p init
      chmod 755 p/ro && rm -f p/ro/a && echo two > p/ro/b && chmod 555 p/ro && echo y > p/x
      chronicle -C p restore baseline
      test "$(cat p/ro/a)" = one; test ! -e p/ro/b; test "$(stat -c %a p/ro)" = 555; test "$(cat p/x)" = x
      chronicle -C p undo
      test "$(cat p/ro/b)" = two; test ! -e p/ro/a; test "$(stat -c %a p/ro)" = 555
      chronicle -C p verify; chmod -R u+w p
    `,
      { user: 65534 },
    );
  });

  it.skipIf(!canMount || spawnSync("chattr", ["-V"], { stdio: "ignore" }).status !== 0)(
    "R7 a file that nobody may change blocks a restore; with --force, all other files are restored",
    async ({ skip }) => {
      await using project = new Project();
      project.write("a", "1");
      project.write("fixed", "1");
      const workspace = await project.init();
      project.write("a", "2");
      project.write("fixed", "2");
      if (spawnSync("chattr", ["+i", project.at("fixed")]).status !== 0)
        skip("this file system has no immutable files");
      try {
        await expect(workspace.restore("baseline")).rejects.toMatchObject({ code: "REFUSED" });
        expect([project.read("a"), project.read("fixed")]).toEqual(["2", "2"]);
        const forced = await workspace.restore("baseline", { force: true });
        expect(forced.skipped).toMatchObject([{ path: "fixed", reason: "not-permitted" }]);
        expect([project.read("a"), project.read("fixed")]).toEqual(["1", "2"]);
      } finally {
        execFileSync("chattr", ["-i", project.at("fixed")]);
      }
      await workspace.restore("baseline");
      expect(project.read("fixed")).toBe("1");
    },
  );
});
