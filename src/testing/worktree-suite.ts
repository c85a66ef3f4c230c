import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Change, Entry } from "../core/values/entry.ts";
import type { CaptureLimits } from "../core/filter/filter.ts";
import { DEFAULT_FILTER } from "../core/filter/filter.ts";
import { sha256 } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import { pathFromBytes } from "../core/values/path.ts";
import type { HarnessOptions, WorktreeEditor, WorktreeHarness } from "./worktree-harness.ts";
import { Recorder } from "./worktree-recorder.ts";
import { worktreeNamedSuite } from "./worktree-named-suite.ts";
import { worktreeSeenSuite } from "./worktree-seen-suite.ts";

const NO_LIMITS: CaptureLimits = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };

function asPath(text: string): WorkspacePath {
  return pathFromBytes(Buffer.from(text));
}

/** The contract of `Worktree`. `make` makes a worktree over an empty folder. */
export function worktreeSuite(name: string, make: (options: HarnessOptions) => WorktreeHarness): void {
  worktreeSeenSuite(name, () => make({ filter: DEFAULT_FILTER, limits: NO_LIMITS }));
  worktreeNamedSuite(name, () => make({ filter: DEFAULT_FILTER, limits: NO_LIMITS }));
  describe(name, () => {
    let harness: WorktreeHarness;
    let edit: WorktreeEditor;
    let recorder: Recorder;

    function begin(options: Partial<HarnessOptions> = {}): void {
      harness?.dispose();
      harness = make({ filter: DEFAULT_FILTER, limits: NO_LIMITS, ...options });
      edit = harness.edit;
      recorder = new Recorder(harness);
    }

    beforeEach(() => begin());
    afterEach(() => harness.dispose());

    function smallTree(): void {
      edit.makeFolder("src");
      edit.makeFolder("src/deep");
      edit.makeFolder("empty");
      edit.write("readme", "hello");
      edit.write("src/a.ts", "a");
      edit.write("src/deep/b.ts", "b", 0o755);
      edit.symlink("../readme", "src/link");
    }

    async function captured(): Promise<Map<WorkspacePath, Entry>> {
      harness.later();
      await recorder.capture();
      return recorder.state();
    }

    describe("scan", () => {
      test("the first scan reports everything, each folder before its contents", async () => {
        smallTree();
        const report = await recorder.capture();
        expect(report.remembered).toBe(false);
        expect([...report.changed].sort()).toEqual(
          ["empty", "readme", "src", "src/a.ts", "src/deep", "src/deep/b.ts", "src/link"].sort(),
        );
        expect(report.changed.indexOf("src")).toBeLessThan(report.changed.indexOf("src/a.ts"));
        expect(report.entries).toBe(7);
        expect(report.bytes).toBe(7);
        expect(recorder.entries.get(asPath("src/deep/b.ts"))).toMatchObject({ kind: "file", mode: 0o755, size: 1 });
        expect(recorder.entries.get(asPath("src/link"))).toMatchObject({ kind: "symlink", hash: sha256("../readme") });
      });

      test("a scan without changes reports no path, and the same counts", async () => {
        smallTree();
        harness.later();
        await recorder.capture();
        const again = await recorder.capture();
        expect(again).toMatchObject({ remembered: true, changed: [], gone: [], entries: 7, bytes: 7 });
      });

      test("a file that was changed just before it was read is reported until its times can be trusted", async () => {
        edit.write("a", "1");
        await recorder.capture();
        expect((await recorder.capture()).changed).toEqual(["a"]);
        harness.later();
        expect((await recorder.capture()).changed).toEqual(["a"]);
        expect((await recorder.capture()).changed).toEqual([]);
      });

      test("finds an edit of the same size, a changed mode, a new file and a removed folder", async () => {
        smallTree();
        await captured();
        edit.write("readme", "HELLO");
        edit.chmod("src/a.ts", 0o600);
        edit.write("src/new", "n");
        edit.remove("src/deep");
        const report = await recorder.capture();
        expect([...report.changed].sort()).toEqual(["readme", "src/a.ts", "src/new"]);
        expect(report.gone).toEqual(["src/deep/b.ts", "src/deep"]);
      });

      test("finds a folder that became a file, and a file that became a folder", async () => {
        smallTree();
        await captured();
        edit.remove("src");
        edit.write("src", "now a file");
        edit.remove("readme");
        edit.makeFolder("readme");
        edit.write("readme/inner", "x");
        const report = await recorder.capture();
        expect([...report.changed].sort()).toEqual(["readme", "readme/inner", "src"]);
        expect([...report.gone].sort()).toEqual(["src/a.ts", "src/deep", "src/deep/b.ts", "src/link"]);
      });

      test("a paranoid scan reports every file again", async () => {
        smallTree();
        await captured();
        expect((await recorder.capture({ paranoid: true })).changed.sort()).toEqual(
          ["readme", "src/a.ts", "src/deep/b.ts", "src/link"].sort(),
        );
      });

      test("a scan of some paths looks only at these and beneath them", async () => {
        smallTree();
        await captured();
        edit.write("readme", "new!!");
        edit.write("src/a.ts", "A");
        edit.write("src/deep/c", "c");
        edit.makeFolder("fresh");
        edit.write("fresh/x", "x");
        const one = await recorder.capture({ only: [asPath("src/deep"), asPath("fresh/x")] });
        expect([...one.changed].sort()).toEqual(["fresh", "fresh/x", "src/deep/c"]);
        expect(one.entries).toBe(10);
        const rest = await recorder.capture();
        expect(rest.changed).toEqual(expect.arrayContaining(["readme", "src/a.ts"]));
      });

      test("a scan of a path in a removed folder reports everything that was removed with the folder", async () => {
        smallTree();
        await captured();
        edit.remove("src");
        const report = await recorder.capture({ only: [asPath("src/deep/b.ts")] });
        expect([...report.gone].sort()).toEqual(["src", "src/a.ts", "src/deep", "src/deep/b.ts", "src/link"]);
        expect(report.entries).toBe(2);
      });

      test("a link is recorded as a link and never followed", async () => {
        edit.makeFolder("real");
        edit.write("real/x", "x");
        edit.symlink("real", "to-folder");
        edit.symlink("/nowhere/at/all", "dangling");
        edit.symlink("loop", "loop");
        const report = await recorder.capture();
        expect([...report.changed].sort()).toEqual(["dangling", "loop", "real", "real/x", "to-folder"]);
        expect(recorder.entries.get(asPath("to-folder"))?.kind).toBe("symlink");
      });

      test("read returns the content on disk; undefined for a folder, a large file and a missing path", async () => {
        const { worktree } = recorder.harness;
        edit.makeFolder("dir");
        edit.write("dir/a", "content");
        edit.write("large", Buffer.alloc(8 * 1024 * 1024 + 1));
        edit.symlink("dir/a", "link");
        edit.symlink("dir", "to-folder");
        expect(await worktree.read(asPath("dir/a"))).toEqual(Buffer.from("content"));
        expect(await worktree.read(asPath("link"))).toEqual(Buffer.from("dir/a"));
        for (const path of ["dir", "large", "nothing", "dir/nothing", "to-folder/a"])
          expect(await worktree.read(asPath(path))).toBeUndefined();
      });

      test("odd names are kept exactly", async () => {
        const names = ["a\nb", 'q"uote', "back\\slash", "-dash", "#hash", "!bang", "é", "e\u0301", "😀", " space "];
        for (const one of names) edit.write(one, one);
        await recorder.capture();
        expect([...recorder.entries.keys()].sort()).toEqual([...names].sort());
        const before = recorder.state();
        for (const one of names) edit.remove(one);
        await recorder.capture();
        await recorder.apply(recorder.changesTo(before));
        expect(edit.list()).toEqual([...names].sort());
      });
    });

    describe("filter", () => {
      test("another filter applies from the next scan on, and tracked files stay tracked", async () => {
        begin({ filter: { ...DEFAULT_FILTER, excludePatterns: ["was"] } });
        for (const folder of ["was", "will", "other"]) edit.makeFolder(folder);
        edit.write("was/x", "x");
        edit.write("will/x", "x");
        await captured();
        const filter = { ...DEFAULT_FILTER, excludePatterns: ["will"] };
        harness.worktree.configure(harness.worktree.roots.map((root) => ({ ...root, filter })));
        expect(harness.worktree.roots[0]?.filter).toEqual(filter);
        edit.write("will/x", "changed");
        edit.write("other/will", "new");
        const report = await recorder.capture();
        expect([...report.changed].sort()).toEqual(["was", "was/x", "will/x"]);
        expect(report.gone).toEqual([]);
        expect(report.filters[0]?.options).toEqual(filter);
      });

      test("ignored names are reported and left out; files that were tracked before stay tracked", async () => {
        edit.write(".gitignore", "*.log\nbuild/\n");
        edit.write("kept.txt", "k");
        edit.write("a.log", "l");
        edit.makeFolder("build");
        edit.write("build/out", "o");
        const first = await recorder.capture();
        expect([...first.changed].sort()).toEqual([".gitignore", "kept.txt"]);
        expect(first.omitted.map(({ path, reason }) => [path, reason])).toEqual([
          ["a.log", "excluded"],
          ["build", "excluded"],
        ]);
        expect(first.filters[0]?.rules).toEqual([{ folder: "", source: ".gitignore", text: "*.log\nbuild/\n" }]);
        harness.later();
        await recorder.capture();
        const again = await recorder.capture();
        expect(again.changed).toEqual([]);
        expect(again.omitted).toEqual(first.omitted);
        edit.write(".gitignore", "*.log\nbuild/\nkept.txt\nnew.txt\n");
        edit.write("new.txt", "n");
        edit.write("kept.txt", "k2");
        const third = await recorder.capture();
        expect([...third.changed].sort()).toEqual([".gitignore", "kept.txt"]);
        expect(third.gone).toEqual([]);
        expect(third.omitted.map((one) => one.path)).toContain("new.txt");
      });

      test("a removed rule brings files back, also in subfolders", async () => {
        edit.makeFolder("a");
        edit.makeFolder("a/b");
        edit.write("a/.gitignore", "secret\n");
        edit.write("a/b/secret", "s");
        await captured();
        expect(recorder.entries.has(asPath("a/b/secret"))).toBe(false);
        await captured();
        edit.remove("a/.gitignore");
        const report = await recorder.capture();
        expect(report.changed).toEqual(["a/b/secret"]);
        expect(report.filters[0]?.rules).toEqual([]);
      });

      test("a force-included file in an excluded folder is recorded with its folders", async () => {
        begin({ filter: { ...DEFAULT_FILTER, excludePatterns: ["out"], forceInclude: ["keep.me"] } });
        edit.makeFolder("out");
        edit.makeFolder("out/x");
        edit.write("out/x/keep.me", "k");
        edit.write("out/x/not", "n");
        edit.makeFolder("out/y");
        const report = await recorder.capture();
        expect([...report.changed].sort()).toEqual(["out", "out/x", "out/x/keep.me"]);
        expect(report.omitted.map((one) => one.path)).toContain("out");
      });

      test("explain names the rule, and leftOut lists the paths that the rules leave out", async () => {
        edit.makeFolder("src");
        edit.write("src/.gitignore", "*.tmp\n");
        expect(await harness.worktree.explain(asPath("src/x.tmp"))).toMatchObject({
          tracked: false,
          rule: "gitignore",
          source: "src/.gitignore:1",
        });
        expect(await harness.worktree.explain(asPath("src/x.ts"))).toMatchObject({ tracked: true });
        for (const own of [".chronicle-tmp", "src/.chronicle-tmp/x", ".chronicle-tmp-x", ".chronicle-tmp-y/z"])
          expect(await harness.worktree.explain(asPath(own))).toEqual({ tracked: false, rule: "staging" });
        const asked = ["gone/x.tmp", "src/gone/x.tmp", "src/x.tmp", "src/x.ts"].map(asPath);
        expect(await harness.worktree.leftOut(asked)).toEqual(["src/gone/x.tmp", "src/x.tmp"]);
      });

      test("our own staging folder is never captured", async () => {
        edit.makeFolder(".chronicle-tmp");
        edit.write(".chronicle-tmp/x", "x");
        expect((await recorder.capture()).changed).toEqual([]);
      });
    });

    describe("limits", () => {
      test("with too many paths, some are left out and reported, and the heaviest folders are named", async () => {
        begin({ limits: { ...NO_LIMITS, maxEntries: 5 } });
        edit.makeFolder("light");
        edit.makeFolder("heavy");
        for (let i = 0; i < 9; i += 1) edit.write(`heavy/${i}`, "x");
        edit.write("light/a", "a");
        const report = await recorder.capture();
        expect(report.exceeded).toMatchObject([{ limit: "maxEntries", allowed: 5, found: 12 }]);
        expect(report.exceeded[0]?.heaviest[0]).toMatchObject({ path: "heavy", entries: 9 });
        expect(report.changed.length).toBeLessThanOrEqual(5);
        expect(report.omitted.some((one) => one.reason === "over-limit")).toBe(true);
      });

      test("a file over the size limit is left out until it is small enough", async () => {
        begin({ limits: { ...NO_LIMITS, maxFileSize: 10 } });
        edit.write("big", "x".repeat(11));
        harness.later();
        const first = await recorder.capture();
        expect(first.changed).toEqual([]);
        expect(first.omitted).toMatchObject([{ path: "big", reason: "too-large" }]);
        edit.write("big", "small");
        expect((await recorder.capture()).changed).toEqual(["big"]);
      });
    });

    describe("memory", () => {
      test("the saved memory is known to the next process", async () => {
        smallTree();
        await captured();
        await recorder.capture();
        await harness.worktree.save(7);
        const next = harness.reopen();
        const report = await recorder.capture({}, next);
        expect(report).toMatchObject({ remembered: true, changed: [], entries: 7, bytes: 7 });
        expect(next.recall(asPath("src/a.ts"))?.entry).toEqual(recorder.entries.get(asPath("src/a.ts")));
        edit.write("src/a.ts", "changed");
        edit.remove("empty");
        expect(await recorder.capture({}, next)).toMatchObject({ changed: ["src/a.ts"], gone: ["empty"] });
        await next.close();
      });

      test("a forgotten path is reported again", async () => {
        smallTree();
        await captured();
        harness.worktree.forget([asPath("readme")]);
        expect(harness.worktree.recall(asPath("readme"))).toBeUndefined();
        expect((await recorder.capture()).changed).toContain("readme");
      });

      test("after forgetAll, everything is reported again, also to the next process", async () => {
        smallTree();
        await captured();
        await harness.worktree.save(7);
        harness.worktree.forgetAll();
        expect(harness.worktree.recall(asPath("readme"))).toBeUndefined();
        expect(harness.worktree.rememberedSeq).toBeUndefined();
        const next = harness.reopen();
        expect(next.rememberedSeq).toBeUndefined();
        for (const worktree of [harness.worktree, next]) {
          expect(await recorder.capture({}, worktree)).toMatchObject({ remembered: false, entries: 7 });
        }
        await next.close();
      });
    });

    describe("apply", () => {
      test("restores contents, links, modes, kinds and empty folders", async () => {
        smallTree();
        const before = await captured();
        edit.remove("src");
        edit.write("src", "a file now");
        edit.remove("empty");
        edit.write("readme", "other");
        edit.makeFolder("more");
        edit.write("more/x", "x");
        const changed = await captured();
        const report = await recorder.apply(recorder.changesTo(before));
        expect(report).toMatchObject({ blocked: [], conflicts: [] });
        expect(edit.list()).toEqual([...before.keys()].sort());
        expect(edit.read("readme").toString()).toBe("hello");
        expect(edit.stat("src/deep/b.ts")?.mode).toBe(0o755);
        expect(edit.read("src/link").toString()).toBe("../readme");
        await recorder.capture({ paranoid: true });
        expect(recorder.changesTo(before)).toEqual([]);
        await recorder.apply(recorder.changesTo(changed));
        expect(edit.list()).toEqual([...changed.keys()].sort());
        expect(edit.read("src").toString()).toBe("a file now");
      });

      test("unchanged files are not touched; a change of the mode alone does not rewrite the file", async () => {
        smallTree();
        const before = await captured();
        const same = edit.stat("src/a.ts");
        const mode = edit.stat("src/deep/b.ts");
        edit.write("readme", "x");
        edit.chmod("src/deep/b.ts", 0o600);
        await recorder.capture();
        await recorder.apply(recorder.changesTo(before));
        expect(edit.stat("src/a.ts")).toEqual(same);
        expect(edit.stat("src/deep/b.ts")).toMatchObject({ mode: 0o755, ino: mode?.ino, mtimeNs: mode?.mtimeNs });
      });

      test("a path that was changed in the meantime blocks everything, or only itself", async () => {
        smallTree();
        const before = await captured();
        edit.write("readme", "mine");
        edit.write("src/a.ts", "agent");
        await recorder.capture();
        edit.write("src/a.ts", "human");
        const changes = recorder.changesTo(before);
        const refused = await recorder.apply(changes);
        expect(refused).toMatchObject({ applied: [], blocked: [{ path: "src/a.ts", reason: "changed" }] });
        expect(edit.read("readme").toString()).toBe("mine");
        const missing = changes.map(({ path, before, after }) => {
          const isMissing = path === "readme" && after !== undefined;
          return { path, before, after: isMissing ? { ...after, hash: sha256("in no store") } : after };
        });
        const stopped = await recorder.apply(missing, { onBlocked: "skip-changed" });
        expect(stopped.applied).toEqual([]);
        expect(stopped.blocked).toContainEqual(expect.objectContaining({ path: "readme", reason: "content-missing" }));
        const left = await recorder.apply(changes, { onBlocked: "skip-changed" });
        expect(left).toMatchObject({ applied: ["readme"], blocked: [{ path: "src/a.ts", reason: "changed" }] });
        edit.write("readme", "mine");
        await recorder.capture({ only: [asPath("readme")] });
        const skipped = await recorder.apply(changes, { onBlocked: "skip" });
        expect(skipped).toMatchObject({ applied: ["readme"], blocked: [{ path: "src/a.ts", reason: "changed" }] });
        expect(edit.read("readme").toString()).toBe("hello");
        expect(edit.read("src/a.ts").toString()).toBe("human");
      });

      test("a folder that stays because of a file changed in the meantime blocks nothing else; an unknown file in it does", async () => {
        smallTree();
        const before = await captured();
        edit.remove("readme");
        edit.remove("src/a.ts");
        edit.makeFolder("src/a.ts");
        edit.makeFolder("src/a.ts/deep");
        edit.write("src/a.ts/deep/z", "agent");
        await recorder.capture();
        const changes = recorder.changesTo(before);
        edit.write("src/a.ts/deep/z", "human");
        edit.write("src/a.ts/unknown", "human");
        const stopped = await recorder.apply(changes, { onBlocked: "skip-changed" });
        expect(stopped.applied).toEqual([]);
        expect(stopped.blocked).toContainEqual(expect.objectContaining({ path: "src/a.ts", reason: "not-empty" }));
        edit.remove("src/a.ts/unknown");
        const left = await recorder.apply(changes, { onBlocked: "skip-changed" });
        expect(left.applied).toEqual(["readme"]);
        expect(new Map(left.blocked.map(({ path, reason }) => [path, reason]))).toEqual(
          new Map([
            ["src/a.ts", "not-empty"],
            ["src/a.ts/deep", "not-empty"],
            ["src/a.ts/deep/z", "changed"],
          ]),
        );
        expect(edit.read("src/a.ts/deep/z").toString()).toBe("human");
      });

      test("areStill and unchangedAmong recognise files that are as recorded, and answer false in doubt", async () => {
        smallTree();
        edit.write("fresh", "at the last moment");
        edit.write(".gitignore", "*.log\n");
        const entries = await captured();
        const areStill = (...names: string[]): Promise<boolean> =>
          harness.worktree.areStill(names.flatMap((name) => entries.get(asPath(name)) ?? []));
        // The files are read again long after they were written, so their times can be trusted.
        harness.later();
        await recorder.capture();
        expect(await areStill("readme", "src/a.ts", "src/link")).toBe(true);
        expect(await areStill("readme", "src")).toBe(false);
        const unchanged = (...all: string[]): readonly string[] => harness.worktree.unchangedAmong(all.map(asPath));
        // Only a scan can tell whether folders, files of rules and unknown paths are unchanged.
        expect(unchanged("readme", "src/link", "src", ".gitignore", "unknown")).toEqual(["readme", "src/link"]);
        edit.write("src/a.ts", "b");
        expect([await areStill("readme"), await areStill("readme", "src/a.ts")]).toEqual([true, false]);
        edit.remove("src/link");
        edit.chmod("src/deep/b.ts", 0o700);
        expect([await areStill("src/link"), await areStill("src/deep/b.ts")]).toEqual([false, false]);
        expect(unchanged("readme", "src/a.ts", "src/link", "src/deep/b.ts")).toEqual(["readme"]);
        // The stat is as remembered, but the entry asked about has another hash.
        const [readme] = [entries.get(asPath("readme"))];
        if (readme === undefined) throw new Error("readme was not captured");
        expect(await harness.worktree.areStill([{ ...readme, hash: sha256("other") }])).toBe(false);
        harness.worktree.forget([asPath("fresh")]);
        expect(await areStill("fresh")).toBe(false);
      });

      test("nothing is changed before begin has resolved, and nothing at all if begin rejects", async () => {
        smallTree();
        const before = await captured();
        edit.write("readme", "other");
        edit.makeFolder("made");
        edit.write("made/known", "k");
        edit.remove("src/link");
        await captured();
        const changes = recorder.changesTo(before);
        let times = 0;
        const begin = async (fails: boolean): Promise<void> => {
          times += 1;
          await new Promise<void>((resolve) => setImmediate(resolve));
          expect([edit.read("readme").toString(), edit.read("made/known").toString()]).toEqual(["other", "k"]);
          expect(edit.list()).not.toContain("src/link");
          if (fails) throw new Error("not begun");
        };
        await expect(recorder.apply(changes, { begin: () => begin(true) })).rejects.toThrow("not begun");
        expect(edit.read("readme").toString()).toBe("other");
        const report = await recorder.apply(changes, { begin: () => begin(false) });
        expect(report.blocked).toEqual([]);
        expect([edit.read("readme").toString(), edit.list().includes("made"), times]).toEqual(["hello", false, 2]);
      });

      test("a refused request does not call begin", async () => {
        smallTree();
        const before = await captured();
        edit.write("readme", "mine");
        await recorder.capture();
        const changes = recorder.changesTo(before);
        edit.write("readme", "human");
        let isBegun = false;
        const begin = async () => void (isBegun = true);
        expect(await recorder.apply(changes, { begin })).toMatchObject({ applied: [] });
        expect(isBegun).toBe(false);
      });

      test("a folder with unknown files is not removed", async () => {
        edit.write("base", "b");
        const before = await captured();
        edit.makeFolder("made");
        edit.write("made/known", "k");
        await captured();
        edit.write("made/unknown", "u");
        // The other changes are made, even if all or nothing is wanted, because nothing is lost if the folder stays.
        expect(await recorder.apply(recorder.changesTo(before))).toMatchObject({
          applied: ["made/known"],
          blocked: [{ path: "made", reason: "not-empty" }],
        });
        expect(edit.list()).toEqual(["base", "made", "made/unknown"]);
      });

      test("a folder with unknown files is not replaced by a file", async () => {
        edit.write("x", "file");
        const before = await captured();
        edit.remove("x");
        edit.makeFolder("x");
        await captured();
        edit.write("x/unknown", "u");
        const hindered = await recorder.harness.worktree.check({
          changes: recorder.changesTo(before),
          onBlocked: "fail",
        });
        expect(hindered).toMatchObject({ applied: [], blocked: [{ path: "x", reason: "not-empty" }] });
        expect(await recorder.apply(recorder.changesTo(before))).toMatchObject({
          applied: [],
          blocked: [{ path: "x", reason: "not-empty" }],
        });
        expect(edit.read("x/unknown").toString()).toBe("u");
      });

      test("a missing content is reported before anything is written", async () => {
        edit.write("a", "1");
        edit.write("b", "2");
        const before = await captured();
        edit.write("a", "one");
        edit.write("b", "two");
        await recorder.capture();
        recorder.contents.delete(sha256("2"));
        expect(await recorder.apply(recorder.changesTo(before))).toMatchObject({
          applied: [],
          blocked: [{ path: "b", reason: "content-missing" }],
        });
        expect(edit.read("a").toString()).toBe("one");
        expect(edit.list()).toEqual(["a", "b"]);
      });

      test("a parent that became a link is not followed", async () => {
        edit.makeFolder("dir");
        edit.write("dir/x", "x");
        edit.makeFolder("elsewhere");
        const before = await captured();
        edit.write("dir/x", "changed");
        await recorder.capture();
        edit.remove("dir");
        edit.symlink("elsewhere", "dir");
        const changes = recorder.changesTo(before).filter((one) => one.path === "dir/x");
        expect(await recorder.apply(changes)).toMatchObject({
          applied: [],
          blocked: [{ path: "dir/x", reason: "outside" }],
        });
        expect(edit.list()).toEqual(["dir", "elsewhere"]);
      });

      test("the setuid bit of a file is not set", async () => {
        edit.write("a", "1");
        const before = await captured();
        const path = asPath("a");
        const entry = before.get(path);
        if (entry === undefined) throw new Error("not captured");
        const changes: Change[] = [{ path, before: entry, after: { ...entry, mode: 0o4755 } }];
        await recorder.apply(changes);
        expect(edit.stat("a")?.mode).toBe(0o755);
      });

      test("setgid and sticky bits of a new folder are set; masked bits of an existing folder stay", async () => {
        edit.makeFolder("dir");
        edit.write("dir/x", "1");
        edit.chmod("dir", 0o3755);
        const before = await captured();
        edit.remove("dir");
        await captured();
        await recorder.apply(recorder.changesTo(before));
        expect(edit.stat("dir")?.mode).toBe(0o3755);
        const entry = (await captured()).get(asPath("dir"));
        if (entry === undefined) throw new Error("not captured");
        const changes: Change[] = [{ path: asPath("dir"), before: entry, after: { ...entry, mode: 0o700 } }];
        await recorder.apply(changes, { maskMode: 0o7000 });
        expect(edit.stat("dir")?.mode).toBe(0o3700);
      });

      test("a repeated request with resume changes nothing, and reports every path as applied", async () => {
        smallTree();
        const before = await captured();
        edit.remove("src");
        edit.write("readme", "x");
        await captured();
        const changes = recorder.changesTo(before);
        await recorder.apply(changes);
        const again = await recorder.apply(changes, { resume: true });
        expect(again.blocked).toEqual([]);
        expect([...again.applied].sort()).toEqual(changes.map((one) => one.path as string).sort());
        expect(edit.list()).toEqual([...before.keys()].sort());
      });

      test("no staging files are left behind", async () => {
        smallTree();
        const before = await captured();
        edit.remove("src");
        edit.write("readme", "x");
        await recorder.capture();
        await recorder.apply(recorder.changesTo(before));
        await harness.worktree.cleanUp("01TESTTOKEN");
        expect(edit.list().filter((path) => path.includes("chronicle"))).toEqual([]);
      });
    });
  });
}
