import { expect, test } from "vitest";
import { text } from "../../../test/helpers/content-text.ts";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { ListFilesOptions } from "../../api/file-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { sha256 } from "../../core/values/hash.ts";

/** Tests lists of the files of a moment, and reads of contents by path, by iteration and by hash. */

const put = (workspace: WorkspaceApi, path: string, content: string) => workspace.putFile(path, Buffer.from(content));

const listed = async (workspace: WorkspaceApi, options: ListFilesOptions = {}): Promise<string[]> =>
  (await workspace.files(options)).files.map((one) => one.path);

test("a listing gives all files, direct children, a folder, or one page after another, also of an earlier moment", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  for (const path of ["b/x/1", "b/x/2", "b/y", "a", "c"]) await put(workspace, path, path);
  await workspace.snapshot({ name: "full" });
  await workspace.deleteFile("b/x");
  expect(await listed(workspace)).toEqual(["a", "b", "b/y", "c"]);
  expect(await listed(workspace, { depth: 1, at: "full" })).toEqual(["a", "b", "c"]);
  expect(await listed(workspace, { path: "b", depth: 1, at: "full" })).toEqual(["b/x", "b/y"]);
  expect(await listed(workspace, { path: "b/", at: "full" })).toEqual(["b/x", "b/x/1", "b/x/2", "b/y"]);
  expect(await listed(workspace, { path: ".", at: "latest" })).toHaveLength(7);
  for (const limit of [1, 2, 3, 7, 100]) {
    const met: string[] = [];
    for (let after: string | undefined, pages = 0; ; pages += 1) {
      const page = await workspace.files({ at: "full", limit, ...(after === undefined ? {} : { after }) });
      expect(page.files.length).toBeLessThanOrEqual(limit);
      met.push(...page.files.map((one) => one.path));
      if (page.next === null) break;
      after = page.next;
      expect(pages).toBeLessThan(10);
    }
    expect(met).toEqual(["a", "b", "b/x", "b/x/1", "b/x/2", "b/y", "c"]);
  }
  expect((await workspace.files({ at: "full" })).seq).toBeLessThan((await workspace.files()).seq);
  for (const path of ["a", "none", "b/x"])
    await expect(workspace.files({ path }), path).rejects.toMatchObject({ code: "NOT_FOUND" });
  for (const options of [{ limit: 0 }, { depth: 0 }, { depth: 1.5 }, { limit: -1 }])
    await expect(workspace.files(options)).rejects.toMatchObject({ code: "USAGE" });
  await expect(workspace.files({ path: "../x" })).rejects.toMatchObject({ code: "PATH_INVALID" });
});

test("pages give each name, even names that look like marked paths", async () => {
  await using project = new Project();
  const names = ["base64:eA==", "@lib:x", "./dot".slice(2), "a b", "é", ".hidden"];
  for (const name of names) project.write(name, name);
  const workspace = await project.init();
  const met: string[] = [];
  for (let after: string | undefined; ;) {
    const { files, next } = await workspace.files({ limit: 1, ...(after === undefined ? {} : { after }) });
    met.push(...files.map((one) => one.path));
    if (next === null) break;
    after = next;
  }
  // The first two are shown as they must be given.
  const shown = names.map((name) => (/^(?:base64:|@lib:)/.test(name) ? `./${name}` : name));
  expect(met.sort()).toEqual(shown.sort());
});

test("a file is read as it is or was, a folder has no content, and a missing state is refused", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await put(workspace, "d/a", "one");
  const second = await put(workspace, "d/a", "two!");
  await workspace.deleteFile("d/a");
  expect(await workspace.file("d/a", { iteration: 2 })).toMatchObject({
    path: "d/a",
    size: 4,
    hash: sha256("two!"),
    iteration: 2,
    seq: second.seq - 1,
  });
  expect(await text(await workspace.file("d/a", { at: `seq:${second.seq}` }))).toBe("two!");
  const folder = await workspace.file("d");
  expect([folder.kind, folder.hash, await text(folder)]).toEqual(["dir", "", ""]);
  for (const [path, options] of [
    ["d/a", {}],
    ["d/a", { iteration: 3 }],
    ["d/a", { iteration: 9 }],
    ["d/a", { at: "baseline" }],
    ["never", {}],
  ] as const)
    await expect(workspace.file(path, options), path).rejects.toMatchObject({ code: "NOT_FOUND" });
  for (const options of [{ iteration: 0 }, { iteration: 1.5 }, { at: "latest", iteration: 1 }])
    await expect(workspace.file("d/a", options)).rejects.toMatchObject({ code: "USAGE" });
});

test("a content is given by its hash only to a workspace that has or had it at a path", async () => {
  await using project = new HostedProject();
  const [one, other] = [await project.create(), await project.create()];
  await put(one, "secret", "only one has it");
  await one.deleteFile("secret");
  await put(other, "own", "own");
  const hash = sha256("only one has it");
  const content = await one.blob(hash);
  expect([content.size, await text(content)]).toEqual([15, "only one has it"]);
  await expect(other.blob(hash)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(other.blob(sha256("nobody has it"))).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(other.blob("abc")).rejects.toMatchObject({ code: "USAGE" });
  await put(other, "own", "only one has it");
  expect(await text(await other.blob(hash))).toBe("only one has it");
});

test("a content that was pruned is refused with PRUNED", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await put(workspace, "a", "old");
  await put(workspace, "a", "new");
  await workspace.snapshot();
  await workspace.snapshot();
  await workspace.prune({ keepLast: 1, keepWithinMs: 0, now: true });
  await workspace.gc();
  expect(await text(await workspace.blob(sha256("new")))).toBe("new");
  for (const read of [() => workspace.blob(sha256("old")), () => workspace.file("a", { iteration: 1 })])
    await expect(read()).rejects.toMatchObject({ code: "PRUNED" });
  expect((await workspace.history("a")).map((one) => one.pruned_by === undefined)).toEqual([false, true]);
});

test("the history of a file is given in pages, and the page after the last iteration is empty", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  for (let i = 1; i <= 7; i += 1) await put(workspace, "a", `${i}`);
  const numbers = async (options: { after?: number; limit?: number; last?: number }): Promise<number[]> =>
    (await workspace.history("a", options)).map((one) => one.iteration);
  expect(await numbers({ limit: 3 })).toEqual([1, 2, 3]);
  expect(await numbers({ after: 3, limit: 3 })).toEqual([4, 5, 6]);
  expect(await numbers({ after: 6, limit: 3 })).toEqual([7]);
  expect(await numbers({ after: 7, limit: 3 })).toEqual([]);
  expect(await numbers({ last: 3 })).toEqual([5, 6, 7]);
  expect(await numbers({ last: 3, limit: 2 })).toEqual([5, 6]);
  expect(await numbers({ last: 3, after: 6, limit: 2 })).toEqual([7]);
  expect(await numbers({ last: 20 })).toEqual([1, 2, 3, 4, 5, 6, 7]);
  await expect(workspace.history("none", { limit: 1 })).rejects.toMatchObject({ code: "NOT_FOUND" });
});
