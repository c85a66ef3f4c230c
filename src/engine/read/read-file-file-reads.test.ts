import { truncateSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { text } from "../../../test/helpers/content-text.ts";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

/** Tests reads of the last state, which are cached as long as the log does not change. */

const put = (workspace: WorkspaceApi, path: string, content: string) => workspace.putFile(path, Buffer.from(content));
const read = async (workspace: WorkspaceApi, path: string): Promise<string> => text(await workspace.file(path));

/** Empties all packs, so that no content can be read from the store any more. */
async function emptyPacks({ home }: HostedProject): Promise<void> {
  const packs = join(home, "blobs", "packs");
  const all = await readdir(packs, { recursive: true, withFileTypes: true });
  for (const one of all) if (one.isFile()) truncateSync(join(one.parentPath, one.name), 0);
}

describe("a file that is read again", () => {
  test("is cached from its second read on, and a file that was read once is not", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "often", "asked for again and again");
    await put(workspace, "once", "walked over");
    for (let i = 0; i < 2; i += 1) expect(await read(workspace, "often")).toBe("asked for again and again");
    expect(await read(workspace, "once")).toBe("walked over");
    await emptyPacks(project);
    expect(await read(workspace, "often")).toBe("asked for again and again");
    const often = await workspace.file("often");
    const range = await Array.fromAsync(often.pieces({ start: 6, end: 9 }));
    expect(Buffer.concat(range).toString()).toBe("for");
    expect(() => often.pieces({ start: 2, end: 1 })).toThrow(expect.objectContaining({ code: "USAGE" }));
    await expect(read(await project.open(workspace.id), "once")).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  });

  test("has the content of the last acknowledged write, whichever process made it", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "0");
    const other = await project.open(workspace.id);
    for (let i = 1; i <= 10; i += 1) {
      for (let again = 0; again < 3; again += 1) expect(await read(workspace, "a")).toBe(String(i - 1));
      await put(i % 2 === 0 ? workspace : other, "a", String(i));
      expect(await read(workspace, "a")).toBe(String(i));
      expect((await workspace.file("a")).iteration).toBe(i + 1);
    }
    await other.deleteFile("a");
    await expect(workspace.file("a")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("is never older than the last acknowledged write, even while it is being written", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "n", "0");
    let acknowledged = 0;
    let isDone = false;
    const reader = async (): Promise<number> => {
      let reads = 0;
      for (; !isDone; reads += 1) {
        const least = acknowledged;
        expect(Number(await read(workspace, "n"))).toBeGreaterThanOrEqual(least);
        await setImmediate();
      }
      return reads;
    };
    const readers = [reader(), reader(), reader()];
    const other = await project.open(workspace.id);
    for (let i = 1; i <= 20; i += 1) {
      await put(i % 3 === 0 ? other : workspace, "n", String(i));
      acknowledged = i;
    }
    isDone = true;
    for (const reads of await Promise.all(readers)) expect(reads).toBeGreaterThan(0);
  });

  test("is a copy for each reader, so that no reader sees another one's changes of the bytes", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "mine");
    for (let i = 0; i < 3; i += 1) {
      for await (const piece of (await workspace.file("a")).pieces()) {
        expect(Buffer.from(piece).toString()).toBe("mine");
        piece.fill(0);
      }
    }
  });

  test("is right even if there are more files than the cache holds", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const contents = Array.from({ length: 12 }, (_, i) => String.fromCodePoint(97 + i).repeat(60_000));
    for (const [i, content] of contents.entries()) await put(workspace, `f${i}`, content);
    await put(workspace, "large", "x".repeat(70_000));
    for (let round = 0; round < 4; round += 1) {
      for (const [i, content] of contents.entries()) expect(await read(workspace, `f${i}`)).toBe(content);
      expect(await read(workspace, "large")).toHaveLength(70_000);
    }
  });
});
