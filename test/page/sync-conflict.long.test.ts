import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SyncApi } from "../../src/api/sync-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { servedStore } from "./page-store.ts";

/** Conflicts of a real sync: an origin and a folder that follows it, each with a server, store and folder of its own. */

const LINES = Array.from({ length: 30 }, (_, i) => `line ${i}\n`);

/** The text with other words in some lines. */
function text(words: Readonly<Record<number, string>>): string {
  return LINES.map((line, i) => words[i] ?? line).join("");
}

/** A folder of a test, with its files as texts. */
function filesIn(folder: string) {
  return {
    write: (files: Readonly<Record<string, string>>): void => {
      for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    },
    remove: (name: string): void => rmSync(join(folder, name)),
    read: (name: string): string | undefined => {
      const path = join(folder, name);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    },
  };
}

/** Has both sides edit while the sync is paused, so that neither sees the other's edit first. */
async function meet(syncs: SyncApi, id: string, edit: () => void): Promise<void> {
  await syncs.flush(id);
  await syncs.pause(id);
  edit();
  await syncs.resume(id);
}

describeWithBrowser("a conflict of a sync", () => {
  it("is settled in the editor, and both sides have the result", async () => {
    await using origin = new ServerProcess(["--replication"]);
    const there = filesIn(origin.project);
    there.write({ "code.txt": text({}), "kept.txt": "before\n", "gone.txt": "before\n" });
    await origin.start();
    await using box = await servedStore(() => Promise.resolve());
    const client = createClient({ url: `unix:${join(box.store, "run", "serve.sock")}` });
    const folder = join(box.folder, "desk");
    const { id } = await client.syncs.start({ upstream: origin.url, token: origin.makeToken("operator"), folder });
    const here = filesIn(folder);
    await meet(client.syncs, id, () => {
      // Lines 4 and 20 are edited on both sides, line 10 only there, and line 15 only here.
      there.write({
        "code.txt": text({ 4: "theirs 4\n", 10: "theirs 10\n", 20: "theirs 20\n" }),
        "kept.txt": "theirs\n",
      });
      here.write({ "code.txt": text({ 4: "mine 4\n", 15: "mine 15\n", 20: "mine 20\n" }), "kept.txt": "mine\n" });
      there.write({ "gone.txt": "theirs\n" });
      here.remove("gone.txt");
    });

    await using tab = await openTab(await box.address(`/w/${id}/conflicts`), { expected: /status of 404/ });
    const { page } = tab;
    const list = page.getByRole("navigation", { name: "Open conflicts" });
    const isSettled = (path: string) =>
      page
        .getByRole("status")
        .filter({ hasText: `Settled: ${path}` })
        .waitFor();
    const both = (name: string) => [here.read(name), there.read(name)];

    await list.getByRole("button", { name: /^code\.txt/ }).click();
    await page.getByRole("region", { name: "Conflict at code.txt" }).waitFor();
    const part = page.getByRole("toolbar", { name: "The parts of this conflict" }).getByRole("status");
    await part.filter({ hasText: "Part 1 of 3: as it is now" }).waitFor();
    await page.keyboard.press("t");
    await page.keyboard.press("n");
    // What only the origin has changed is in the result already.
    await part.filter({ hasText: "Part 2 of 3: the origin's" }).waitFor();
    await page.keyboard.press("n");
    await page.keyboard.press("b");
    await part.filter({ hasText: "Part 3 of 3: both · all decided" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await isSettled("code.txt");
    const merged = text({ 4: "theirs 4\n", 10: "theirs 10\n", 15: "mine 15\n", 20: "mine 20\ntheirs 20\n" });
    await expect.poll(() => both("code.txt"), SOON).toEqual([merged, merged]);

    await list.getByRole("button", { name: /^kept\.txt/ }).click();
    await page.getByRole("button", { name: "Take the origin's state" }).click();
    await isSettled("kept.txt");
    await expect.poll(() => both("kept.txt"), SOON).toEqual(["theirs\n", "theirs\n"]);
    await page.getByText("No open conflicts").waitFor();
    // A deletion is no conflict: the edit of the other side stays.
    expect(both("gone.txt")).toEqual(["theirs\n", "theirs\n"]);

    await page.getByRole("button", { name: "Take that back" }).click();
    await page.getByText("As it was before: kept.txt").waitFor();
    // The conflict is open again, and the answer does not offer to take the same back a second time.
    await list.getByRole("button", { name: /^kept\.txt/ }).waitFor();
    expect(await page.getByRole("button", { name: "Take that back" }).count()).toBe(0);
    expect(both("kept.txt")).toEqual(["mine\n", "theirs\n"]);
    await page.getByRole("button", { name: "Keep the current state" }).click();
    await page.getByText("No open conflicts").waitFor();
    await expect.poll(() => both("kept.txt"), SOON).toEqual(["mine\n", "mine\n"]);
    expect(await client.syncs.flush(id)).toMatchObject({ state: "in-sync", pending: 0, conflicts: 0 });
    await client.close();
  });
});

describeWithBrowser("a folder that follows by a sync", () => {
  it("is said to be recorded by the sync, and not to be recorded while the sync is paused", async () => {
    await using origin = new ServerProcess(["--replication"]);
    filesIn(origin.project).write({ "a.txt": "one\n" });
    await origin.start();
    await using box = await servedStore(() => Promise.resolve());
    const client = createClient({ url: `unix:${join(box.store, "run", "serve.sock")}` });
    const folder = join(box.folder, "desk");
    const { id } = await client.syncs.start({ upstream: origin.url, token: origin.makeToken("operator"), folder });
    await client.syncs.flush(id);
    await using tab = await openTab(await box.address(`/w/${id}/sync`), { expected: /status of 404/ });
    const { page } = tab;
    const sign = (words: string) => page.locator(".recording", { hasText: words }).waitFor();
    await sign("by the sync");
    await page.getByRole("button", { name: "Pause" }).click();
    await sign("not recording the sync of this folder is paused");
    await page.getByRole("button", { name: "Resume" }).click();
    await sign("by the sync");
  });
});
