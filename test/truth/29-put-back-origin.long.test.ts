import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";
import { copied, put, replaceIn, treeOf } from "../helpers/put-back-files.ts";

/** An origin that can be put back to what it was, with its folder or without. */
class Restored extends FollowedOrigin {
  readonly #kept = join(this.origin.base, "kept");

  /** What the origin's process has noted. */
  get diagnostics(): string {
    const file = join(this.origin.home, "run", "diagnostics.log");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /** Keeps a copy of the origin, as a backup does. */
  async keep(): Promise<void> {
    await this.replica.kill("SIGINT");
    await this.origin.kill("SIGTERM");
    copied(this.origin.home, join(this.#kept, "store"));
    // The signed heads are outside of the store. If they are newer, a person has to accept the older history first.
    copied(this.origin.configFolder, join(this.#kept, "config"));
    copied(this.origin.project, join(this.#kept, "project"));
    await this.origin.start();
    await this.startReplica();
    await this.flush();
  }

  async putBack(what: "all" | "store"): Promise<void> {
    await this.replica.kill("SIGINT");
    await this.origin.kill("SIGTERM");
    replaceIn(this.origin.home, join(this.#kept, "store"));
    replaceIn(this.origin.configFolder, join(this.#kept, "config"));
    if (what === "all") replaceIn(this.origin.project, join(this.#kept, "project"));
    await this.origin.start();
  }

  at(path: string, text: string | undefined): void {
    put(this.origin.project, path, text);
  }

  here(path: string, text: string | undefined): void {
    put(this.replica.folder, path, text);
  }

  /** What `chronicle` prints in the folder of the desk. */
  async run(...typed: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
    const { promise, resolve } = Promise.withResolvers<{ code: number; text: string }>();
    const { folder, env } = this.replica;
    execFile(process.execPath, [chronicleBin(), "-C", folder, ...typed], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: `${out}${err}` }),
    );
    return promise;
  }

  get there(): Record<string, string> {
    return treeOf(this.origin.project);
  }

  get mine(): Record<string, string> {
    return treeOf(this.replica.folder);
  }
}

/** Checks that the sync is halted, and that both sides say that the origin went back. */
async function isHalted(both: Restored): Promise<void> {
  const shape = await both.until(({ state }) => state === "halted" || state === "in-sync");
  expect(shape).toMatchObject({ state: "halted", halted: "diverged" });
  expect(shape.reason).toMatch(/^the origin went back to an earlier state: from its event \d+ to event \d+/);
  expect(shape.hint).toContain("chronicle sync rejoin");
  const [from = 0, to = 0] = (shape.reason?.match(/\d+/g) ?? []).map(Number);
  expect(from).toBeGreaterThan(to);
  // The diagnostics of the origin say so, too.
  await vi.waitFor(
    () => expect(both.diagnostics).toMatch(/replica \S+: the replica holds .*was put back to an earlier state/),
    60_000,
  );
}

describe.each(WAYS)("Truth 29: an origin that is put back to an older state (%s)", (way) => {
  it("is reported, and gets back what it has lost; nothing is deleted, and edits of both sides are a conflict", async () => {
    await using both = new Restored(way);
    both.at("base.txt", "base\n");
    both.at("both.txt", "base\n");
    both.at("gone.txt", "deleted later\n");
    both.at("theirs.txt", "base\n");
    both.at("gone-there.txt", "deleted by the origin when it was back\n");
    await both.start();
    both.here("before.txt", "before\n");
    await both.flush();
    await both.keep();
    // The origin will have forgotten these changes.
    for (let n = 0; n < 3; n += 1) both.at(`lost/at-${n}.txt`, `at the origin ${n}\n`);
    for (let n = 0; n < 3; n += 1) both.here(`lost/here-${n}.txt`, `here ${n}\n`);
    both.at("base.txt", "changed at the origin\n");
    both.here("both.txt", "changed here\n");
    both.at("gone.txt", undefined);
    await both.flush();
    expect(both.mine).toEqual(both.there);
    const lost = both.mine;
    await both.putBack("all");
    // These changes are made after the origin was put back.
    both.at("both.txt", "changed at the origin, when it was back\n");
    both.at("theirs.txt", "changed at the origin, when it was back\n");
    both.at("new-there.txt", "new at the origin\n");
    both.at("gone-there.txt", undefined);
    both.here("new-here.txt", "new here\n");
    both.here("before.txt", undefined);
    const [there, mine] = [both.there, both.mine];
    await both.startReplica();
    await isHalted(both);
    expect([both.there, both.mine]).toEqual([there, mine]);
    await both.rejoin();
    expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 1 });
    const wanted = {
      ...lost,
      "gone.txt": "deleted later\n",
      "theirs.txt": "changed at the origin, when it was back\n",
      "new-there.txt": "new at the origin\n",
      "new-here.txt": "new here\n",
    };
    expect(both.there).toEqual({ ...wanted, "both.txt": "changed at the origin, when it was back\n" });
    expect(both.mine).toEqual({ ...wanted, "both.txt": "changed here\n" });
    // Nothing is wrong with either history.
    expect(await both.run("verify")).toMatchObject({ code: 0 });
    expect(await both.run("--upstream", "verify")).toMatchObject({ code: 0 });
    // From here on, everything is synced as before, including deletions.
    both.here("gone.txt", undefined);
    both.at("lost/at-0.txt", undefined);
    await both.flush();
    expect(both.there).not.toHaveProperty(["gone.txt"]);
    expect(both.mine).not.toHaveProperty(["lost/at-0.txt"]);
  }, 300_000);

  it("loses nothing if only its store is put back", async () => {
    await using both = new Restored(way);
    both.at("base.txt", "base\n");
    await both.start();
    await both.keep();
    both.at("lost.txt", "lost\n");
    both.here("mine.txt", "mine\n");
    await both.flush();
    both.at("base.txt", "changed\n");
    await both.flush();
    await both.putBack("store");
    both.here("new.txt", "new\n");
    await both.startReplica();
    await isHalted(both);
    await both.rejoin();
    expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
    expect(both.mine).toEqual(both.there);
    expect(both.mine).toEqual({
      "base.txt": "changed\n",
      "lost.txt": "lost\n",
      "mine.txt": "mine\n",
      "new.txt": "new\n",
    });
  }, 300_000);

  it("needs no decision if it has lost nothing", async () => {
    await using both = new Restored(way);
    both.at("base.txt", "base\n");
    await both.start();
    await both.keep();
    await both.putBack("all");
    both.at("new.txt", "new\n");
    await both.startReplica();
    await both.flush();
    expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 0 });
    expect(both.mine).toEqual({ "base.txt": "base\n", "new.txt": "new\n" });
    await expect(both.rejoin()).rejects.toMatchObject({ code: "REFUSED" });
  }, 300_000);
});

describe("Truth 29: a conflict while the origin goes back", () => {
  it("must be settled before a rejoin if the origin has lost its side, and a rejoin needs the origin", async () => {
    await using both = new Restored("--connect");
    both.at("a.txt", "base\n");
    both.at("old.txt", "base\n");
    await both.start();
    await both.run("sync", "pause");
    both.at("old.txt", "at the origin\n");
    both.here("old.txt", "here\n");
    await both.run("sync", "resume");
    await both.until(({ conflicts }) => conflicts === 1);
    await both.keep();
    await both.run("sync", "pause");
    both.at("a.txt", "lost at the origin\n");
    both.here("a.txt", "here\n");
    await both.run("sync", "resume");
    await both.until(({ conflicts }) => conflicts === 2);
    await both.putBack("all");
    await both.startReplica();
    await isHalted(both);
    const refused = await both.run("sync", "rejoin");
    expect(refused.text).toContain("a.txt");
    expect(refused.text).toContain("sync resolve");
    expect(refused.code).not.toBe(0);
    expect((await both.run("sync", "resolve", "a.txt", "--accept-upstream")).code).toBe(0);
    expect(both.mine).toEqual({ "a.txt": "lost at the origin\n", "old.txt": "here\n" });
    await both.origin.kill("SIGTERM");
    expect((await both.run("sync", "rejoin")).code).not.toBe(0);
    expect(await both.status()).toMatchObject({ state: "halted", halted: "diverged" });
    await both.origin.start();
    await both.rejoin();
    expect(both.there).toEqual({ "a.txt": "lost at the origin\n", "old.txt": "at the origin\n" });
    // The other conflict is as it was before the origin went back.
    expect(await both.status()).toMatchObject({ state: "in-sync", conflicts: 1 });
    expect((await both.run("sync", "resolve", "old.txt", "--keep-local")).code).toBe(0);
    await both.flush();
    expect(both.there).toEqual({ "a.txt": "lost at the origin\n", "old.txt": "here\n" });
  }, 300_000);

  it("about a lost file that cannot come back does not block a rejoin once it is settled", async () => {
    await using both = new Restored("--connect");
    both.at("base.txt", "base\n");
    await both.start();
    await both.keep();
    both.at("d/lost.txt", "in a folder\n");
    await both.flush();
    await both.putBack("all");
    // A file is now in the place of the folder of the lost file.
    both.here("d/lost.txt", undefined);
    rmdirSync(join(both.replica.folder, "d"));
    both.here("d", "a file\n");
    await both.startReplica();
    await isHalted(both);
    expect(await both.run("sync", "rejoin")).toMatchObject({ text: expect.stringContaining("d/lost.txt") as unknown });
    expect(await both.run("sync", "resolve", "d/lost.txt", "--keep-local")).toMatchObject({ code: 0 });
    await both.rejoin();
    expect(both.mine).toEqual({ "base.txt": "base\n", d: "a file\n" });
    expect(both.there).toEqual(both.mine);
  }, 240_000);
});
