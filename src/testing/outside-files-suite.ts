import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Entry } from "../core/values/entry.ts";
import { sha256, sha256Pieces } from "../core/values/hash.ts";
import { outsidePath } from "../core/records/outside-record.ts";
import type { OutsideFiles, OutsideLook, OutsideRequest, OutsideLimits } from "../worktree/outside-files.ts";
import type { ContentReader } from "../worktree/worktree.ts";

/** A user who edits files outside of workspaces. Paths are absolute. */
export interface OutsideEditor {
  write(path: string, content: string | Buffer): void;
  /** Makes a folder and those above it. */
  makeFolder(path: string): void;
  symlink(target: string, path: string): void;
  chmod(path: string, mode: number): void;
  /** Removes a file, a link or a whole folder. */
  remove(path: string): void;
  /** Returns the content of a file, or the target of a link. */
  read(path: string): string;
  modeOf(path: string): number;
  /** Returns the names in a folder, in order. */
  list(path: string): string[];
}

/** Outside files, and their editor. `base` contains the store (`store`) and a workspace (`ws`), both empty folders. */
export interface OutsideHarness {
  readonly outside: OutsideFiles;
  readonly edit: OutsideEditor;
  /** Absolute, with links resolved. */
  readonly base: string;
  dispose(): void;
}

const LIMITS: OutsideLimits = { maxFileSize: 1_000, maxEntries: 20, maxBytes: 2_000 };

/** The contract of `OutsideFiles`. */
export function outsideFilesSuite(name: string, make: (limits: OutsideLimits) => OutsideHarness): void {
  describe(name, () => {
    let harness: OutsideHarness;

    beforeEach(() => {
      harness = make(LIMITS);
    });

    afterEach(() => harness.dispose());

    function at(path: string): string {
      return `${harness.base}/${path}`;
    }

    function look(path: string, deep = false): Promise<OutsideLook> {
      return harness.outside.look(outsidePath(path), { deep, keep: async (pieces) => sha256Pieces(pieces) });
    }

    /** Returns the findings by name beneath the test's folder. */
    function shown({ found, omitted }: OutsideLook): Record<string, string> {
      const names = found.map(({ path, entry }) => [
        `/${path}`.replace(`${harness.base}/`, ""),
        entry?.kind ?? "absent",
      ]);
      const left = omitted.map((one) => [`/${one.path}`.replace(`${harness.base}/`, ""), one.reason]);
      return Object.fromEntries([...names, ...left]) as Record<string, string>;
    }

    async function entryAt(path: string): Promise<Entry | undefined> {
      return (await look(at(path))).found[0]?.entry;
    }

    function text(content: string): ContentReader {
      return {
        size: content.length,
        async *pieces() {
          yield Buffer.from(content);
        },
      };
    }

    describe("looking", () => {
      test("finds a file, a link, a folder and a missing path", async () => {
        harness.edit.write(at("a"), "alpha");
        harness.edit.chmod(at("a"), 0o640);
        harness.edit.symlink("a", at("link"));
        harness.edit.makeFolder(at("dir"));
        expect(await entryAt("a")).toMatchObject({ kind: "file", mode: 0o640, size: 5, hash: sha256("alpha") });
        expect(await entryAt("link")).toMatchObject({ kind: "symlink", size: 1, hash: sha256("a") });
        expect(await entryAt("dir")).toMatchObject({ kind: "dir" });
        expect(shown(await look(at("none")))).toEqual({ none: "absent" });
        expect(shown(await look(at("none/deeper")))).toEqual({ "none/deeper": "absent" });
      });

      test("finds a folder with everything beneath it, except the workspace and the store", async () => {
        harness.edit.makeFolder(at("dir/sub"));
        harness.edit.write(at("dir/sub/f"), "f");
        harness.edit.write(at("ws/own"), "own");
        expect(Object.keys(shown(await look(at("dir"), true)))).toEqual(["dir", "dir/sub", "dir/sub/f"]);
        const all = Object.keys(shown(await look(harness.base, true)));
        expect(all).toContain("dir/sub/f");
        expect(all.filter((path) => path.startsWith("ws") || path.startsWith("store"))).toEqual([]);
      });

      test("a link on the way is reported, and nothing behind it is read", async () => {
        harness.edit.makeFolder(at("real"));
        harness.edit.write(at("real/secret"), "s");
        harness.edit.symlink("real", at("parent"));
        const found = await look(at("parent/secret"));
        expect(shown(found)).toEqual({ "parent/secret": "unreadable" });
        expect(found.omitted[0]?.detail).toContain("is a link");
      });

      test("paths of the system and special files are omitted as special", async () => {
        expect((await look("/proc/self/mem")).omitted).toMatchObject([{ reason: "special" }]);
        expect((await look("/dev/null")).omitted).toMatchObject([{ reason: "special" }]);
        expect((await look("/sys", true)).omitted).toMatchObject([{ reason: "special" }]);
        expect((await look("/", true)).omitted).toMatchObject([{ reason: "special" }]);
      });

      test("contents and numbers of entries over the limits are reported", async () => {
        harness.edit.write(at("large"), Buffer.alloc(1_001));
        expect(shown(await look(at("large")))).toEqual({ large: "too-large" });
        harness.edit.makeFolder(at("many"));
        for (let i = 0; i < 3; i += 1) harness.edit.write(at(`many/${i}`), Buffer.alloc(900, i));
        expect(shown(await look(at("many"), true))).toMatchObject({ "many/0": "file", "many/2": "over-limit" });
        harness.edit.remove(at("many"));
        harness.edit.makeFolder(at("many"));
        for (let i = 10; i < 40; i += 1) harness.edit.write(at(`many/${i}`), "");
        const found = await look(at("many"), true);
        expect(found.found.length).toBe(20);
        // One omission stands for everything that was not found.
        expect(found.omitted).toMatchObject([{ path: outsidePath(at("many")), reason: "over-limit" }]);
        let kept = 0;
        const keep = async (pieces: Iterable<Uint8Array>) => {
          kept += 1;
          return sha256Pieces(pieces);
        };
        const nothing = await harness.outside.look(outsidePath(at("many")), { deep: true, whole: true, keep });
        expect([kept, nothing.found, nothing.omitted.length]).toEqual([0, [], 1]);
      });

      test("keep gets the path and size of each content, and may refuse the content", async () => {
        harness.edit.makeFolder(at("dir"));
        harness.edit.write(at("dir/f"), "four");
        harness.edit.symlink("f", at("dir/link"));
        const told: string[] = [];
        const keep: OutsideRequest["keep"] = async (pieces, { path, size }) => {
          told.push(`${`/${path}`.replace(`${harness.base}/`, "")} ${size}`);
          if (told.length === 2) throw new Error("no room");
          return sha256Pieces(pieces);
        };
        const path = outsidePath(at("dir"));
        await expect(harness.outside.look(path, { deep: true, keep })).rejects.toThrow("no room");
        expect(told).toEqual(["dir/f 4", "dir/link 1"]);
      });

      test("a path is resolved through the links on the way (name), and through a link at its end (end)", () => {
        harness.edit.makeFolder(at("real"));
        harness.edit.write(at("real/f"), "f");
        harness.edit.symlink("real", at("way"));
        harness.edit.symlink("../real/f", at("real/link"));
        harness.edit.symlink("not/there", at("dangling"));
        const { outside } = harness;
        expect(outside.resolve(at("real/f"))).toEqual({ name: at("real/f"), end: at("real/f") });
        expect(outside.resolve(at("way/f"))).toEqual({ name: at("real/f"), end: at("real/f") });
        expect(outside.resolve(at("way/link"))).toEqual({ name: at("real/link"), end: at("real/f") });
        expect(outside.resolve(at("way/new"))).toEqual({ name: at("real/new"), end: at("real/new") });
        expect(outside.resolve(at("dangling"))).toEqual({ name: at("dangling"), end: at("not/there") });
        expect(outside.resolve(at("none/deeper"))).toEqual({ name: at("none/deeper"), end: at("none/deeper") });
      });

      test("isOwn recognises the paths of the own store", () => {
        expect(harness.outside.isOwn(outsidePath(at("store/blobs/x")), false)).toBe(true);
        expect(harness.outside.isOwn(outsidePath(at("stores")), true)).toBe(false);
        // A tool that removed the whole folder would remove the store with it.
        expect(harness.outside.isOwn(outsidePath(harness.base), true)).toBe(true);
        expect(harness.outside.isOwn(outsidePath(harness.base), false)).toBe(false);
      });

      test("the own store is not read, even if it is named", async () => {
        harness.edit.write(at("store/key"), "secret");
        expect(shown(await look(at("store/key")))).toEqual({ "store/key": "store" });
        expect(shown(await look(at("store"), true))).toEqual({ store: "store" });
      });
    });

    describe("replacing", () => {
      test("a file by an earlier state, with its mode but without setuid", async () => {
        harness.edit.write(at("a"), "new");
        const before = await entryAt("a");
        const path = outsidePath(at("a"));
        const after: Entry = { path, kind: "file", mode: 0o4750, size: 3, mtimeMs: 0, hash: sha256("old") };
        expect(await harness.outside.replace({ path, before, after, content: text("old") })).toBeUndefined();
        expect(harness.edit.read(at("a"))).toBe("old");
        expect(harness.edit.modeOf(at("a"))).toBe(0o750);
        expect(harness.edit.list(harness.base).filter((name) => name.startsWith(".chronicle"))).toEqual([]);
      });

      test("nothing by a file in new folders, a file by a link, and a link by nothing", async () => {
        const path = outsidePath(at("x/y/z"));
        const after: Entry = { path, kind: "file", mode: 0o600, size: 1, mtimeMs: 0, hash: sha256("z") };
        expect(await harness.outside.replace({ path, before: undefined, after, content: text("z") })).toBeUndefined();
        expect(harness.edit.read(at("x/y/z"))).toBe("z");
        const before = await entryAt("x/y/z");
        const link: Entry = { path, kind: "symlink", mode: 0o777, size: 1, mtimeMs: 0, hash: sha256("t") };
        expect(await harness.outside.replace({ path, before, after: link, content: text("t") })).toBeUndefined();
        expect(harness.edit.read(at("x/y/z"))).toBe("t");
        const now = await entryAt("x/y/z");
        expect(
          await harness.outside.replace({ path, before: now, after: undefined, content: undefined }),
        ).toBeUndefined();
        expect(harness.edit.list(at("x/y"))).toEqual([]);
      });

      test("a file that was changed in the meantime is left alone", async () => {
        harness.edit.write(at("a"), "seen");
        const before = await entryAt("a");
        harness.edit.write(at("a"), "edited since");
        const path = outsidePath(at("a"));
        const after: Entry = { path, kind: "file", mode: 0o600, size: 3, mtimeMs: 0, hash: sha256("old") };
        expect(await harness.outside.replace({ path, before, after, content: text("old") })).toContain(
          "not what it was",
        );
        expect(harness.edit.read(at("a"))).toBe("edited since");
        expect(harness.edit.list(harness.base)).toEqual(["a", "store", "ws"]);
      });

      test("a refused replacement makes no folders", async () => {
        const path = outsidePath(at("x/y/z"));
        const after: Entry = { path, kind: "file", mode: 0o600, size: 1, mtimeMs: 0, hash: sha256("z") };
        expect(await harness.outside.replace({ path, before: undefined, after, content: undefined })).toContain(
          "not in the store",
        );
        harness.edit.makeFolder(at("x"));
        const before: Entry = { ...after, hash: sha256("was") };
        expect(await harness.outside.replace({ path, before, after, content: text("z") })).toContain("not what it was");
        const folder: Entry = { path, kind: "dir", mode: 0o700, size: 0, mtimeMs: 0, hash: undefined };
        expect(await harness.outside.replace({ path, before, after: folder, content: undefined })).toContain(
          "not what it was",
        );
        expect(harness.edit.list(at("x"))).toEqual([]);
        harness.edit.remove(at("x"));
        expect(harness.edit.list(harness.base)).toEqual(["store", "ws"]);
      });

      test("nothing is replaced in a folder that became a link", async () => {
        harness.edit.makeFolder(at("dir"));
        harness.edit.write(at("dir/f"), "f");
        const before = await entryAt("dir/f");
        harness.edit.makeFolder(at("target"));
        harness.edit.write(at("target/f"), "f");
        harness.edit.remove(at("dir"));
        harness.edit.symlink("target", at("dir"));
        const path = outsidePath(at("dir/f"));
        const after: Entry = { path, kind: "file", mode: 0o600, size: 3, mtimeMs: 0, hash: sha256("old") };
        expect(await harness.outside.replace({ path, before, after, content: text("old") })).toBeDefined();
        expect(await harness.outside.replace({ path, before, after: undefined, content: undefined })).toBeDefined();
        expect(harness.edit.read(at("target/f"))).toBe("f");
      });

      test("a file that became a link is not written through", async () => {
        harness.edit.write(at("secret"), "secret");
        harness.edit.write(at("f"), "f");
        const before = await entryAt("f");
        harness.edit.remove(at("f"));
        harness.edit.symlink("secret", at("f"));
        const path = outsidePath(at("f"));
        const after: Entry = { path, kind: "file", mode: 0o600, size: 3, mtimeMs: 0, hash: sha256("old") };
        expect(await harness.outside.replace({ path, before, after, content: text("old") })).toContain(
          "not what it was",
        );
        expect(harness.edit.read(at("secret"))).toBe("secret");
      });

      test("a folder that is not empty stays", async () => {
        harness.edit.makeFolder(at("dir"));
        harness.edit.write(at("dir/f"), "f");
        const path = outsidePath(at("dir"));
        const before = await entryAt("dir");
        expect(await harness.outside.replace({ path, before, after: undefined, content: undefined })).toBe("ENOTEMPTY");
        expect(harness.edit.list(at("dir"))).toEqual(["f"]);
      });
    });
  });
}
