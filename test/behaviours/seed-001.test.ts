import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";

/** What seed 001 says of files and their versions, of the engine: one test for each sentence. */

const put = (workspace: Awaited<ReturnType<HostedProject["create"]>>, path: string, content: string) =>
  workspace.putFile(path, Buffer.from(content));

describe("file versioning", () => {
  it("provides each agent session with an isolated workspace", async () => {
    await using project = new HostedProject();
    const [one, other] = [await project.create({ name: "session-1" }), await project.create({ name: "session-2" })];
    await put(one, "src/auth.ts", "only in one");
    expect((await other.files()).files).toEqual([]);
    await expect(other.file("src/auth.ts")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(other.history("src/auth.ts")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(other.blob(sha256("only in one"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await project.open("session-1", { exact: true })).id).toBe(one.id);
  });

  it("keeps each content once, by its hash, whatever session wrote it", async () => {
    await using project = new HostedProject();
    const [one, other] = [await project.create(), await project.create()];
    const content = "the same content ".repeat(20_000);
    await put(one, "a", content);
    const { count } = (await one.du()).blobs;
    await put(other, "b", content);
    await put(one, "c", content);
    expect((await one.du()).blobs.count).toBe(count);
    expect(await text(await other.file("b"))).toBe(content);
  });

  it("creates a new iteration with every change: numbers from 1 that only grow, in the scope of the path", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    for (const content of ["one", "two", "three"]) await put(workspace, "src/auth.ts", content);
    await put(workspace, "other.ts", "first");
    await workspace.deleteFile("src/auth.ts");
    await put(workspace, "src/auth.ts", "again");
    const iterations = (await workspace.history("src/auth.ts")).map((one) => one.iteration);
    expect(iterations).toEqual([1, 2, 3, 4, 5]);
    expect((await workspace.history("other.ts")).map((one) => one.iteration)).toEqual([1]);
  });

  it("says of each iteration its number, its time in epoch milliseconds, its size and its hash", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const begun = Date.now();
    await put(workspace, "src/auth.ts", "before");
    await put(workspace, "src/auth.ts", "afterwards");
    const history = await workspace.history("src/auth.ts");
    expect(history.map(({ iteration, size, hash }) => ({ iteration, size, hash }))).toEqual([
      { iteration: 1, size: 6, hash: sha256("before") },
      { iteration: 2, size: 10, hash: sha256("afterwards") },
    ]);
    for (const { timestamp } of history) {
      expect(Number.isInteger(timestamp)).toBe(true);
      expect(timestamp).toBeGreaterThanOrEqual(begun);
      expect(timestamp).toBeLessThanOrEqual(Date.now());
    }
    expect(history[1]?.timestamp).toBeGreaterThanOrEqual(history[0]?.timestamp ?? Number.NaN);
  });

  it("retrieves any past version, as it was before the agent's changes", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    const versions = ["original", "edited by the agent", ""];
    for (const version of versions) await put(workspace, "src/auth.ts", version);
    for (const [i, version] of versions.entries()) {
      expect(await text(await workspace.file("src/auth.ts", { iteration: i + 1 }))).toBe(version);
    }
  });

  it("never changes an iteration: a version that was read stays what it was", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    await put(workspace, "a", "first");
    const first = await workspace.file("a", { iteration: 1 });
    const [known] = await workspace.history("a");
    await put(workspace, "a", "second");
    await workspace.undo();
    await workspace.compact();
    expect(await text(first)).toBe("first");
    expect((await workspace.history("a"))[0]).toEqual(known);
    expect(await text(await workspace.file("a", { iteration: 1 }))).toBe("first");
  });

  it("lists the files beneath a path, as deep as is asked", async () => {
    await using project = new HostedProject();
    const workspace = await project.create();
    for (const path of ["src/auth.ts", "src/lib/a.ts", "README.md"]) await put(workspace, path, path);
    const listed = async (options: Parameters<typeof workspace.files>[0]) =>
      (await workspace.files(options)).files.map((one) => one.path);
    expect(await listed({ depth: 1 })).toEqual(["README.md", "src"]);
    expect(await listed({ path: "src", depth: 1 })).toEqual(["src/auth.ts", "src/lib"]);
    expect(await listed({ path: "src" })).toEqual(["src/auth.ts", "src/lib", "src/lib/a.ts"]);
  });
});
