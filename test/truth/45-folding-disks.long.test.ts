import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { type DiskKind, MountedDisk } from "../helpers/mounted-disk.ts";

/**
 * A disk on which `foo` and `FOO` are one name: exFAT, XFS with its option for that, or ext4 with casefold if the
 * kernel has it.
 */

const KINDS: readonly DiskKind[] = ["exfat", "xfs-ci", "casefold"];

describe.each(KINDS)("Truth 45: names that differ only in case, on %s", (kind) => {
  const whyNot = MountedDisk.whyNot(kind);
  let disk: MountedDisk;
  let box: Sandbox;
  afterEach(() => {
    if (whyNot !== undefined) return;
    box[Symbol.dispose]();
    disk[Symbol.dispose]();
  });

  async function begun(files: Readonly<Record<string, string>>): Promise<void> {
    disk = new MountedDisk(kind);
    box = new Sandbox();
    for (const [path, content] of Object.entries(files)) put(path, content);
    await box.must(["init", folder()]);
  }
  const folder = () => disk.home;
  const put = (path: string, content: string): void => {
    mkdirSync(join(folder(), path, ".."), { recursive: true });
    writeFileSync(join(folder(), path), content);
  };
  const names = (at = "") => readdirSync(join(folder(), at)).toSorted();
  const call = (...args: string[]) => box.call(["-C", folder(), ...args]);
  const recorded = async (): Promise<string[]> => {
    const { value } = await box.json(["-C", folder(), "files"]);
    return [...JSON.stringify(value).matchAll(/"path":"([^"]+)"/g)].map(([, path = ""]) => path).toSorted();
  };

  it.skipIf(whyNot !== undefined)(
    `a rename is restored, and the restore is undone${whyNot === undefined ? "" : ` (${whyNot})`}`,
    async () => {
      await begun({ "foo.txt": "content\n", "other.txt": "other\n" });
      renameSync(join(folder(), "foo.txt"), join(folder(), "FOO.txt"));
      expect((await call("snapshot")).code).toBe(0);
      expect(await recorded()).toEqual(["FOO.txt", "other.txt"]);
      const back = await call("restore", "baseline");
      expect([back.code, names(), readFileSync(join(folder(), "foo.txt"), "utf8")]).toEqual([
        0,
        ["foo.txt", "other.txt"],
        "content\n",
      ]);
      expect((await call("undo")).code).toBe(0);
      expect([names(), await recorded()]).toEqual([
        ["FOO.txt", "other.txt"],
        ["FOO.txt", "other.txt"],
      ]);
    },
  );

  it.skipIf(whyNot !== undefined)("a rename of a folder is undone, with all that lies in it", async () => {
    await begun({ "dir/a.txt": "a\n", "dir/sub/b.txt": "b\n" });
    renameSync(join(folder(), "dir"), join(folder(), "DIR"));
    expect((await call("snapshot")).code).toBe(0);
    const back = await call("restore", "baseline");
    expect([
      back.code,
      back.stderr,
      names(),
      names("dir"),
      readFileSync(join(folder(), "dir/sub/b.txt"), "utf8"),
    ]).toEqual([0, "", ["dir"], ["a.txt", "sub"], "b\n"]);
    expect(await recorded()).toEqual(["dir", "dir/a.txt", "dir/sub", "dir/sub/b.txt"]);
  });

  it.skipIf(whyNot !== undefined)(
    "a restore leaves a renamed folder alone while it holds an ignored file",
    async () => {
      await begun({ ".gitignore": "*.o\n", "dir/a.txt": "a\n", "dir/sub/b.txt": "b\n", "dir/out.o": "ignored\n" });
      renameSync(join(folder(), "dir"), join(folder(), "DIR"));
      expect((await call("snapshot")).code).toBe(0);
      for (const args of [
        ["undo", "--dry-run"],
        ["restore", "baseline"],
        ["restore", "baseline", "--force"],
      ]) {
        const left = await call(...args);
        expect([args, left.stdout + left.stderr]).toEqual([args, expect.not.stringContaining("meanwhile")]);
        expect(names("DIR")).toEqual(["a.txt", "out.o", "sub"]);
        expect(readFileSync(join(folder(), "DIR/sub/b.txt"), "utf8")).toBe("b\n");
      }
      expect(await recorded()).toEqual([".gitignore", "DIR", "DIR/a.txt", "DIR/sub", "DIR/sub/b.txt"]);
      rmSync(join(folder(), "DIR/out.o"));
      expect((await call("restore", "baseline")).code).toBe(0);
      expect([names(), names("dir")]).toEqual([
        [".gitignore", "dir"],
        ["a.txt", "sub"],
      ]);
    },
  );

  it.skipIf(whyNot !== undefined)(
    "a restore to the old name does not delete the only file, not even with --force",
    async () => {
      await begun({ "foo.txt": "content\n" });
      renameSync(join(folder(), "foo.txt"), join(folder(), "FOO.txt"));
      expect((await call("snapshot")).code).toBe(0);
      await call("restore", "baseline", "--force", "foo.txt");
      expect(names().map((name) => name.toLowerCase())).toEqual(["foo.txt"]);
      await call("restore", "baseline", "--force");
      expect(names().map((name) => name.toLowerCase())).toEqual(["foo.txt"]);
      expect(readFileSync(join(folder(), "foo.txt"), "utf8")).toBe("content\n");
    },
  );

  it.skipIf(whyNot !== undefined)(
    "an action that names a file in another case does not record it as a second file",
    async () => {
      await begun({ "foo.txt": "content\n" });
      put("FOO.txt", "edited\n");
      expect(names()).toEqual(["foo.txt"]);
      expect((await call("run", "--", "sh", "-c", "echo by the run > FOO.TXT")).code).toBe(0);
      expect(await recorded()).toEqual(["foo.txt"]);
      // For one second, the kernel keeps what a FUSE driver has answered for one spelling, even if the file is written
      // by another.
      await vi.waitFor(() => expect(readFileSync(join(folder(), "foo.txt"), "utf8")).toBe("by the run\n"), 10_000);
    },
  );

  it.skipIf(whyNot !== undefined)(
    "a write of FOO.txt beside foo.txt is refused, and the error names foo.txt",
    async () => {
      await begun({ "foo.txt": "content\n" });
      const source = join(box.project, "source.txt");
      writeFileSync(source, "another\n");
      const { code, stderr } = await call("put", "FOO.txt", source);
      expect([code === 0, stderr]).toEqual([false, expect.stringContaining('"foo.txt"')]);
      expect([names(), readFileSync(join(folder(), "foo.txt"), "utf8"), await recorded()]).toEqual([
        ["foo.txt"],
        "content\n",
        ["foo.txt"],
      ]);
    },
  );

  it.skipIf(whyNot !== undefined)(
    "a replica follows renames of case both ways, and reports the second of two names as a conflict",
    async () => {
      disk = new MountedDisk(kind);
      box = new Sandbox();
      await using both = new FollowedOrigin("--connect", [], folder());
      await both.origin.start();
      const here = (path: string) => join(both.origin.project, path);
      writeFileSync(here("foo.txt"), "content\n");
      await both.startReplica();
      await both.flush();
      renameSync(here("foo.txt"), here("FOO.txt"));
      await both.until(() => names().join() === "FOO.txt");
      await both.flush();
      renameSync(join(folder(), "FOO.txt"), join(folder(), "Foo.txt"));
      await both.until(() => readdirSync(both.origin.project).join() === "Foo.txt");
      writeFileSync(here("foo.TXT"), "another one\n");
      const shape = await both.until(({ conflicts }) => conflicts === 1);
      expect(shape).toMatchObject({ state: "in-sync", conflicts: 1 });
      expect([names(), readFileSync(join(folder(), "Foo.txt"), "utf8")]).toEqual([["Foo.txt"], "content\n"]);
      expect(readdirSync(both.origin.project).toSorted()).toEqual(["Foo.txt", "foo.TXT"]);
      rmSync(here("foo.TXT"));
      await both.until(({ conflicts }) => conflicts === 0);
      expect(readdirSync(both.origin.project)).toEqual(["Foo.txt"]);
    },
    60_000,
  );
});
