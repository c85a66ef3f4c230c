import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { put } from "../helpers/put-back-files.ts";

/** What one command says about a folder whose sync another process runs. */

class Desk extends FollowedOrigin {
  run(...typed: readonly string[]): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const { folder, env } = this.replica;
    execFile(process.execPath, [chronicleBin(), "-C", folder, ...typed], { env }, (error, out) =>
      error === null ? resolve(out) : reject(error),
    );
    return promise;
  }

  async dispute(): Promise<void> {
    put(this.origin.project, "a.txt", "base\n");
    await this.start();
    await this.run("sync", "pause");
    put(this.origin.project, "a.txt", "theirs\n");
    put(this.replica.folder, "a.txt", "mine\n");
    await this.run("sync", "resume");
    await this.until(({ conflicts }) => conflicts === 1);
  }
}

it("status calls a conflict of a sync by that name, and says nothing of undo", async () => {
  await using both = new Desk("--connect");
  await both.dispute();
  const said = await both.run("status");
  expect(said).toContain("1 conflict of this folder's sync waits for a decision");
  expect(said).toContain("sync conflicts` shows both sides");
  expect(said).not.toContain("undo");
}, 180_000);

it.each(["there", "gone"])(
  "the undo of a settlement that the origin has taken leaves no conflict open, if the origin is %s",
  async (origin) => {
    await using both = new Desk("--connect");
    await both.dispute();
    await both.run("sync", "resolve", "a.txt", "--keep-local");
    await both.flush();
    expect(readFileSync(join(both.origin.project, "a.txt"), "utf8")).toBe("mine\n");
    if (origin === "gone") {
      await both.origin.kill();
      await both.until(({ state }) => state === "offline");
    }
    await both.run("undo");
    // The process that runs the sync learns of the undo from the log alone, because no file was changed.
    await vi.waitFor(async () => expect(await both.run("sync", "conflicts")).toContain("no conflict"), {
      timeout: 60_000,
      interval: 200,
    });
    expect(await both.run("conflicts")).toContain("no conflict is open");
    expect(await both.run("status")).not.toContain("waits for a decision");
    expect(readFileSync(join(both.replica.folder, "a.txt"), "utf8")).toBe("mine\n");
  },
  180_000,
);
