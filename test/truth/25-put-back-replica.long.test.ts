import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";
import { copied, put, replaceIn, treeOf } from "../helpers/put-back-files.ts";

/** A desk that can be put back to what it was. */
class PutBack extends FollowedOrigin {
  /** What the origin's process has noted. */
  get diagnostics(): string {
    const file = join(this.origin.home, "run", "diagnostics.log");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  get kept(): string {
    return join(this.replica.base, "kept");
  }

  /** Keeps a copy of the desk, as a snapshot of the whole machine would. */
  async keep(kept = this.kept): Promise<void> {
    await this.replica.kill("SIGINT");
    for (const [from, to] of [
      [this.replica.userHome, "home"],
      [this.replica.folder, "folder"],
    ] as const)
      copied(from, join(kept, to));
  }

  async putBack(what: "all" | "store", kept = this.kept): Promise<void> {
    await this.replica.kill();
    replaceIn(this.replica.userHome, join(kept, "home"));
    if (what === "all") replaceIn(this.replica.folder, join(kept, "folder"));
  }

  write(side: "origin" | "desk", path: string, text: string | undefined): void {
    put(side === "origin" ? this.origin.project : this.replica.folder, path, text);
  }
}

describe.each(WAYS)("Truth 25: a replica that is put back to an older state (%s)", (way) => {
  it.each(["all", "store"] as const)(
    "halts, deletes nothing, and can continue as a new replica (%s)",
    async (what) => {
      await using both = new PutBack(way);
      both.write("origin", "base.txt", "base\n");
      both.write("origin", "gone.txt", "goes later\n");
      await both.start();
      both.write("desk", "before.txt", "before\n");
      await both.flush();
      await both.keep();
      // The origin answers the next changes, and the desk forgets them later.
      await both.startReplica();
      for (let n = 0; n < 6; n += 1) both.write("desk", `later-${n}.txt`, `later ${n}\n`);
      both.write("desk", "base.txt", "changed by the desk\n");
      both.write("desk", "gone.txt", undefined);
      await both.flush();
      both.write("origin", "there.txt", "made at the origin\n");
      await both.flush();
      const held = treeOf(both.origin.project);
      await both.putBack(what);
      // New work, whose events get the numbers of those that were answered.
      for (let n = 0; n < 8; n += 1) both.write("desk", `again-${n}.txt`, `again ${n}\n`);
      both.write("desk", "base.txt", "changed again\n");
      await both.startReplica();
      const halted = await both.until(({ state }) => state === "halted" || state === "in-sync");
      expect(halted).toMatchObject({ state: "halted", halted: "forked" });
      expect(halted.hint).toContain("adopt-as-new");
      // The diagnostics of the origin name the replica, too.
      await vi.waitFor(() => expect(both.diagnostics).toContain(`replica ${both.replica.id} of workspace`), 60_000);
      expect(treeOf(both.origin.project)).toEqual(held);
      await both.adoptAsNew();
      const there = treeOf(both.origin.project);
      for (const [path, text] of Object.entries(held))
        if (path !== "base.txt") expect([path, there[path]]).toEqual([path, text]);
      for (let n = 0; n < 8; n += 1) expect(there[`again-${n}.txt`]).toBe(`again ${n}\n`);
      // Both sides have changed this file. Each keeps its own until somebody decides.
      expect(there["base.txt"]).toBe("changed by the desk\n");
      expect(readFileSync(join(both.replica.folder, "base.txt"), "utf8")).toBe("changed again\n");
      expect(await both.status()).toMatchObject({ conflicts: 1 });
      const { "base.txt": _mine, ...here } = treeOf(both.replica.folder);
      const { "base.txt": _theirs, ...equal } = there;
      expect(here).toEqual(equal);
      expect(existsSync(join(both.replica.folder, "gone.txt"))).toBe(false);
    },
    300_000,
  );

  it("two copies of one replica that are online in turns lose no file, and both continue", async () => {
    await using both = new PutBack(way);
    const other = join(both.replica.base, "other");
    both.write("origin", "base.txt", "base\n");
    await both.start();
    both.write("desk", "before.txt", "before\n");
    await both.flush();
    await both.keep();
    await both.startReplica();
    for (let n = 0; n < 3; n += 1) both.write("desk", `first-${n}.txt`, `first ${n}\n`);
    await both.flush();
    await both.keep(other);
    await both.putBack("all");
    for (let n = 0; n < 3; n += 1) both.write("desk", `second-${n}.txt`, `second ${n}\n`);
    both.write("desk", "before.txt", undefined);
    await both.startReplica();
    expect(await both.until(({ state }) => state === "halted")).toMatchObject({ halted: "forked" });
    await both.adoptAsNew();
    expect(treeOf(both.replica.folder)).toEqual(treeOf(both.origin.project));
    const all = treeOf(both.origin.project);
    // It is not known who deleted this file, so it comes back.
    expect(all["before.txt"]).toBe("before\n");
    await both.putBack("all", other);
    both.write("desk", "first-0.txt", "changed\n");
    await both.startReplica();
    await both.flush();
    expect(treeOf(both.replica.folder)).toEqual(treeOf(both.origin.project));
    expect(treeOf(both.origin.project)).toEqual({ ...all, "first-0.txt": "changed\n" });
  }, 300_000);

  it("is not halted if it has sent nothing since then", async () => {
    await using both = new PutBack(way);
    both.write("origin", "base.txt", "base\n");
    await both.start();
    both.write("desk", "before.txt", "before\n");
    await both.flush();
    await both.keep();
    await both.startReplica();
    both.write("origin", "base.txt", "changed\n");
    await both.flush();
    await both.putBack("all");
    both.write("desk", "mine.txt", "mine\n");
    await both.startReplica();
    await both.flush();
    expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
    expect(treeOf(both.replica.folder)).toEqual(treeOf(both.origin.project));
    expect(treeOf(both.replica.folder)).toMatchObject({ "base.txt": "changed\n", "mine.txt": "mine\n" });
  }, 180_000);
});
