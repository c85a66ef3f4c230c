import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { HOLDS_ALL } from "../../src/core/tree/folder-traits.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { MountedDisk } from "../helpers/mounted-disk.ts";

/**
 * exFAT is a disk without permissions and links that cannot hold each name. What it cannot hold does not count as a
 * change, and does not stop anything else.
 */

const whyNot = MountedDisk.whyNot("exfat");
const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

function fill(folder: string): void {
  writeFileSync(join(folder, "key.txt"), "secret\n");
  chmodSync(join(folder, "key.txt"), 0o600);
  writeFileSync(join(folder, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(folder, "run.sh"), 0o755);
  symlinkSync("run.sh", join(folder, "link"));
  mkdirSync(join(folder, "private"));
  writeFileSync(join(folder, "private", "a.txt"), "a\n");
  chmodSync(join(folder, "private"), 0o700);
  writeFileSync(join(folder, "a:b.txt"), "colon\n");
}

const MODES = { "key.txt": "600", "run.sh": "755", private: "700", "private/a.txt": "644" };
const modesIn = (folder: string) =>
  Object.fromEntries(Object.keys(MODES).map((path) => [path, modeOf(join(folder, path))]));

describe.skipIf(whyNot !== undefined)(
  `Truth 44: a replica on exFAT${whyNot === undefined ? "" : ` (${whyNot})`}`,
  () => {
    let disk: MountedDisk;
    let both: FollowedOrigin;
    beforeAll(async () => {
      disk = new MountedDisk("exfat");
      both = new FollowedOrigin("--connect", [], disk.folder);
      await both.origin.start();
      fill(both.origin.project);
      await both.startReplica();
      await both.flush();
    }, 60_000);
    afterAll(async () => {
      await both[Symbol.asyncDispose]();
      disk[Symbol.dispose]();
    });
    const here = (path: string) => join(both.origin.project, path);
    const there = (path: string) => join(disk.folder, path);

    it("gets all that the disk can hold, and lists the rest with the reason", async () => {
      const shape = await both.status();
      expect(readdirSync(disk.folder).toSorted()).toEqual(["key.txt", "private", "run.sh"]);
      expect(shape).toMatchObject({ state: "in-sync", conflicts: 0, kept_back: 2, not_held: 2 });
      expect(shape.not_held_paths).toEqual([
        { path: "a:b.txt", side: "upstream", why: expect.stringMatching(/no names with ":"/) },
        { path: "link", side: "upstream", why: expect.stringMatching(/no symbolic links/) },
      ]);
    });

    it("leaves the origin's permissions as they are, also if contents are edited on the disk", async () => {
      writeFileSync(there("key.txt"), "edited on the disk\n");
      writeFileSync(there("private/a.txt"), "edited, too\n");
      await both.flush();
      expect(readFileSync(here("key.txt"), "utf8")).toBe("edited on the disk\n");
      expect(modesIn(both.origin.project)).toEqual(MODES);
      expect(lstatSync(here("link")).isSymbolicLink()).toBe(true);
      expect(readFileSync(here("a:b.txt"), "utf8")).toBe("colon\n");
    });

    it("keeps the origin's change of permissions when the file is edited on the disk afterwards", async () => {
      chmodSync(here("run.sh"), 0o700);
      await both.flush();
      writeFileSync(there("run.sh"), "#!/bin/sh\nexit 0\n");
      await both.flush();
      expect([modeOf(here("run.sh")), readFileSync(here("run.sh"), "utf8")]).toEqual(["700", "#!/bin/sh\nexit 0\n"]);
      chmodSync(here("run.sh"), 0o755);
      await both.flush();
    });

    it("sends new files and folders with usual permissions", async () => {
      writeFileSync(there("new.txt"), "new\n");
      mkdirSync(there("folder"));
      writeFileSync(there("folder/in.txt"), "in\n");
      await both.flush();
      expect([modeOf(here("new.txt")), modeOf(here("folder")), modeOf(here("folder/in.txt"))]).toEqual([
        "644",
        "755",
        "644",
      ]);
    });

    it("gets a file that replaces the origin's link, and loses it once the origin makes it a link again", async () => {
      rmSync(here("link"));
      writeFileSync(here("link"), "a file now\n");
      await both.flush();
      expect(readFileSync(there("link"), "utf8")).toBe("a file now\n");
      rmSync(here("link"));
      symlinkSync("run.sh", here("link"));
      await both.flush();
      expect(existsSync(there("link"))).toBe(false);
      expect(lstatSync(here("link")).isSymbolicLink()).toBe(true);
      expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0, not_held: 2 });
    });

    it("keeps permissions and stays in sync after a restart and a new mount of the disk", async () => {
      await both.replica.kill();
      disk.umount();
      disk.mount();
      await both.startReplica();
      await both.flush();
      expect(modesIn(both.origin.project)).toEqual(MODES);
      expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0, not_held: 2 });
    });
  },
);

describe("Truth 44: an entry made in a replica at the path of a link that its disk cannot hold", () => {
  let rig: FolderRig;
  afterEach(() => rig?.close());

  /** The origin has a link, which the disk of the replica's folder cannot hold. */
  async function linked(): Promise<FolderRig> {
    rig = await FolderRig.start({ "a.txt": "a" });
    await rig.flush();
    const { worktree } = rig.desk.context;
    worktree.traitsOf = () => ({ ...HOLDS_ALL, symlinks: false });
    await rig.during(rig.host.workspace.putFile("link", Buffer.from("a.txt"), { kind: "symlink" }));
    await rig.flush();
    // After this write, the replica's record is past the event of the link.
    await rig.during(rig.host.write("b.txt", "b"));
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "a.txt": "a", "b.txt": "b" });
    return rig;
  }

  const linkThere = async () => {
    const { files } = await rig.during(rig.host.workspace.files());
    return files.filter(({ path }) => path.startsWith("link")).map(({ path, kind }) => `${kind} ${path}`);
  };
  const keptBoth = { state: "in-sync", pending: 0, kept_back: 1, not_held_paths: [{ path: "link", side: "both" }] };

  it("stays in the folder, and is listed as not held on both sides: a file", async () => {
    const { desk } = await linked();
    desk.edit("link", "mine\n");
    await rig.flush();
    expect(await linkThere()).toEqual(["symlink link"]);
    expect(desk.tree()).toEqual({ "a.txt": "a", "b.txt": "b", link: "mine\n" });
    expect(desk.sync.shape).toMatchObject(keptBoth);
    desk.edit("link", undefined);
    await rig.flush();
    expect(await linkThere()).toEqual(["symlink link"]);
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", not_held_paths: [{ path: "link", side: "upstream" }] });
  });

  it("stays in the folder, and is listed as not held on both sides: a folder with a file", async () => {
    const { desk } = await linked();
    desk.edit("link/in.txt", "mine\n");
    desk.hint("link");
    await rig.flush();
    desk.edit("link/in.txt", "mine, later\n");
    await rig.flush();
    expect(await linkThere()).toEqual(["symlink link"]);
    expect(desk.tree()).toEqual({ "a.txt": "a", "b.txt": "b", "link/": "", "link/in.txt": "mine, later\n" });
    expect(desk.sync.shape).toMatchObject({ ...keptBoth, conflicts: 0 });
  });

  it("stays in the folder if it was edited before the origin made a link of it", async () => {
    const { desk, host } = await linked();
    desk.cut();
    desk.edit("a.txt", "mine\n");
    await rig.during(host.workspace.deleteFile("a.txt"));
    await rig.during(host.workspace.putFile("a.txt", Buffer.from("link"), { kind: "symlink" }));
    desk.heal();
    await rig.flush();
    expect((await rig.during(host.workspace.files())).files.map(({ kind }) => kind)).toEqual([
      "symlink",
      "file",
      "symlink",
    ]);
    expect(desk.tree()).toEqual({ "a.txt": "mine\n", "b.txt": "b" });
  });

  it("goes to the origin once the origin has removed its link", async () => {
    const { desk, host } = await linked();
    desk.edit("link", "mine\n");
    await rig.flush();
    await rig.during(host.write("link", undefined));
    await rig.flush();
    expect(await linkThere()).toEqual(["file link"]);
    expect(desk.tree()["link"]).toBe("mine\n");
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  });
});

describe.skipIf(whyNot !== undefined)("Truth 44: chronicle on exFAT", () => {
  it("restores all but links and names that the disk cannot hold, and lists these", async () => {
    using disk = new MountedDisk("exfat");
    using box = new Sandbox();
    fill(box.project);
    await box.must(["init"]);
    const to = join(disk.folder, "out");
    const { code, value } = await box.json(["restore", "latest", "--to", to]);
    // The exit code is 1, as always if something was left alone.
    expect(code).toBe(1);
    expect(readdirSync(to).toSorted()).toEqual(["key.txt", "private", "run.sh"]);
    expect(value).toMatchObject({
      skipped: [
        { path: "a:b.txt", reason: "not-held" },
        { path: "link", reason: "not-held" },
      ],
    });
  });

  it("records usual permissions, and no change of them", async () => {
    using disk = new MountedDisk("exfat");
    using box = new Sandbox();
    writeFileSync(join(disk.folder, "a.txt"), "one\n");
    await box.must(["init", disk.folder]);
    chmodSync(join(disk.folder, "a.txt"), 0o600);
    const { value } = await box.json(["-C", disk.folder, "status"]);
    expect(value).toMatchObject({ changes: [] });
    const files = await box.json(["-C", disk.folder, "files"]);
    expect(JSON.stringify(files.value)).toMatch(/"permissions":420/);
  });

  it("says in status and doctor what the disk lacks, and leaves nothing behind on the disk", async () => {
    using disk = new MountedDisk("exfat");
    using box = new Sandbox();
    writeFileSync(join(disk.folder, "a.txt"), "one\n");
    await box.must(["init", disk.folder]);
    const status = await box.json(["-C", disk.folder, "status"]);
    expect(status.value).toMatchObject({
      roots: [
        {
          file_system: expect.stringMatching(/exfat|fuse/),
          lacks: expect.arrayContaining(["permissions", "symbolic links"]),
        },
      ],
      notes: expect.arrayContaining([expect.stringMatching(/cannot hold permissions, symbolic links/)]),
    });
    expect((await box.must(["doctor"])).stdout).toMatch(/cannot hold permissions, symbolic links/);
    expect(readdirSync(disk.folder)).toEqual(["a.txt"]);
  });
});
