import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import { noise, rot } from "../../../test/helpers/rot.ts";

test("a file outside is kept before it is written, and brought back when it is named", async () => {
  await using project = new Project();
  project.write("a.txt", "inside\n");
  const file = join(project.base, "elsewhere.conf");
  fs.writeFileSync(file, "original\n", { mode: 0o640 });
  const workspace = await project.init();
  const root = (await workspace.status()).root;
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: file } });
  expect(action).toMatchObject({ outside: [file], files_backed_up: [] });
  fs.writeFileSync(file, "overwritten\n");
  await workspace.finishAction(action?.id ?? "");
  expect((await workspace.status()).root).toBe(root);
  const ids = (await workspace.log()).map((event) => event.record_id);
  expect(ids.filter((id) => id === `outside:${file}`)).toHaveLength(2);

  const back = { outside: [file] };
  const preview = await workspace.rollback(action?.id ?? "", { ...back, dryRun: true });
  expect(preview).toMatchObject({ dry_run: true, changes: [{ path: file, change_type: "modified" }] });
  expect(fs.readFileSync(file, "utf8")).toBe("overwritten\n");
  const done = await workspace.rollback(action?.id ?? "", back);
  expect(fs.readFileSync(file, "utf8")).toBe("original\n");
  expect(fs.lstatSync(file).mode & 0o777).toBe(0o640);
  await workspace.rollback(done.rollback_id ?? "", back);
  expect(fs.readFileSync(file, "utf8")).toBe("overwritten\n");
  expect((await workspace.verify()).problems).toEqual([]);
});

test("a file outside that is not named is left alone by rollback and undo", async () => {
  await using project = new Project();
  const file = join(project.base, "elsewhere");
  fs.writeFileSync(file, "original\n");
  const workspace = await project.init();
  const action = await workspace.snapshotAction({ type: "delete_file", payload: { path: file } });
  fs.rmSync(file);
  await workspace.finishAction(action?.id ?? "");
  await workspace.rollback(action?.id ?? "");
  expect(fs.existsSync(file)).toBe(false);
  await expect(workspace.undo()).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(workspace.rollback(action?.id ?? "", { outside: ["/etc/hosts"] })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  await workspace.rollback(action?.id ?? "", { outside: [file] });
  expect(fs.readFileSync(file, "utf8")).toBe("original\n");
});

test("a tool that deletes a missing file outside gets no snapshot", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const path = join(project.base, "missing");
  expect(await workspace.snapshotAction({ type: "delete_file", payload: { path } })).toBeNull();
});

test("a rollback removes a file that a tool made outside, and brings a folder that rm removed back whole", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const made = join(project.base, "made");
  const first = await workspace.snapshotAction({ type: "write_file", payload: { path: made } });
  fs.writeFileSync(made, "x");
  await workspace.finishAction(first?.id ?? "");
  await workspace.rollback(first?.id ?? "", { outside: [made] });
  expect(fs.existsSync(made)).toBe(false);

  const folder = join(project.base, "data");
  fs.mkdirSync(join(folder, "sub"), { recursive: true });
  fs.writeFileSync(join(folder, "sub/f"), "f");
  fs.writeFileSync(Buffer.from(`${folder}/\xff`, "latin1"), "not UTF-8");
  fs.symlinkSync("sub", join(folder, "link"));
  const before = project.tree(folder);
  const second = await workspace.snapshotAction({ type: "run_command", payload: { command: `rm -rf ${folder}` } });
  expect(second?.outside).toEqual([folder]);
  fs.rmSync(folder, { recursive: true });
  await workspace.finishAction(second?.id ?? "");
  await workspace.rollback(second?.id ?? "", { outside: [folder] });
  expect(project.tree(folder)).toEqual(before);
  expect((await workspace.verify()).problems).toEqual([]);
});

test("the contents of outside records survive gc and compaction", async () => {
  await using project = new Project();
  const file = join(project.base, "elsewhere");
  fs.writeFileSync(file, "original\n");
  const workspace = await project.init();
  const action = await workspace.snapshotAction({ type: "delete_file", payload: { path: file } });
  fs.rmSync(file);
  await workspace.gc();
  await workspace.compact();
  await workspace.gc();
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.rollback(action?.id ?? "", { outside: [file] });
  expect(fs.readFileSync(file, "utf8")).toBe("original\n");
});

test("a rollback whose outside contents were pruned is refused with their paths, and changes nothing", async () => {
  await using project = new Project();
  const file = join(project.base, "elsewhere");
  fs.writeFileSync(file, "original\n");
  const store = await project.store({ retention: { max_snapshots: 2 } });
  const { workspace } = await store.init({ roots: [project.folder] });
  const ids: string[] = [];
  for (let i = 0; i < 8; i += 1) {
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: file } });
    fs.writeFileSync(file, `content ${i}\n`);
    await workspace.finishAction(action?.id ?? "");
    ids.push(action?.id ?? "");
  }
  await store.gc();
  const seq = (await workspace.head()).seq;
  const gone = workspace.rollback(ids[2] ?? "", { outside: [file] });
  await expect(gone).rejects.toMatchObject({ code: "PRUNED", data: { paths: [file] } });
  expect((await workspace.head()).seq).toBe(seq);
  await workspace.rollback(ids[7] ?? "", { outside: [file] });
  expect(fs.readFileSync(file, "utf8")).toBe("content 6\n");
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.close();
});

test("a tool that would change the store itself is stopped", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const attempt = workspace.snapshotAction({
    type: "run_command",
    payload: { command: `rm -rf ${project.home}/blobs` },
  });
  await expect(attempt).rejects.toMatchObject({ code: "REFUSED" });
});

test("a file outside that cannot be kept stops the tool, or is listed as omitted if the caller only wants a warning", async () => {
  await using project = new Project();
  const file = join(project.base, "huge");
  fs.writeFileSync(file, "");
  fs.truncateSync(file, 3 * 1024 ** 3);
  const workspace = await project.init();
  const request = { type: "write_file", payload: { path: file } };
  await expect(workspace.snapshotAction(request)).rejects.toMatchObject({ code: "REFUSED" });
  const action = await workspace.snapshotAction({ ...request, onFailure: "warn" });
  expect(action?.coverage).toMatchObject({
    complete: false,
    omitted: [{ path: `@outside:${file.slice(1)}`, reason: "too-large" }],
  });
});

test("a path through a link to the workspace is in the workspace, and the target of a link in it is kept", async () => {
  await using project = new Project();
  project.write("a.txt", "inside\n");
  const target = join(project.base, "dotfiles");
  fs.mkdirSync(target);
  fs.writeFileSync(join(target, "rc"), "original\n");
  project.link("rc", join(target, "rc"));
  fs.symlinkSync(project.folder, join(project.base, "alias"));
  const workspace = await project.init();
  const alias = join(project.base, "alias/a.txt");
  const first = await workspace.snapshotAction({ type: "write_file", payload: { path: alias } });
  expect(first).toMatchObject({ files_backed_up: ["a.txt"], outside: [] });
  const second = await workspace.snapshotAction({ type: "write_file", payload: { path: "rc" } });
  expect(second).toMatchObject({ files_backed_up: ["rc"], outside: [join(target, "rc")] });
  fs.writeFileSync(project.at("rc"), "written through\n");
  await workspace.finishAction(second?.id ?? "");
  await workspace.rollback(second?.id ?? "", { outside: [join(target, "rc")] });
  expect(fs.readFileSync(join(target, "rc"), "utf8")).toBe("original\n");
});

test("a rollback does not write through a link that was put in the file's place", async () => {
  await using project = new Project();
  const file = join(project.base, "elsewhere");
  const secret = join(project.base, "secret");
  fs.writeFileSync(file, "original\n");
  fs.writeFileSync(secret, "secret\n");
  const workspace = await project.init();
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: file } });
  fs.rmSync(file);
  fs.symlinkSync(secret, file);
  await workspace.finishAction(action?.id ?? "");
  await workspace.rollback(action?.id ?? "", { outside: [file] });
  expect(fs.readFileSync(secret, "utf8")).toBe("secret\n");
  expect(fs.lstatSync(file).isFile()).toBe(true);
  expect(fs.readFileSync(file, "utf8")).toBe("original\n");
});

test("a rollback skips a file outside whose content is damaged, brings the others back, and ends", async () => {
  await using project = new Project();
  const folder = join(project.base, "conf");
  fs.mkdirSync(folder);
  const large = noise("large", 9 * 1024 * 1024);
  fs.writeFileSync(join(folder, "a"), large);
  fs.writeFileSync(join(folder, "b"), "b");
  const workspace = await project.init();
  const action = await workspace.snapshotAction({ type: "run_command", payload: { command: `rm -rf ${folder}` } });
  fs.rmSync(folder, { recursive: true });
  await workspace.finishAction(action?.id ?? "");
  rot(project.home, large);
  const done = await workspace.rollback(action?.id ?? "", { outside: [folder] });
  expect(done.changes.map(({ path }) => path)).toEqual([folder, join(folder, "b")]);
  expect(done.skipped).toMatchObject([{ path: join(folder, "a"), detail: expect.stringContaining("verify") }]);
  expect(fs.readdirSync(folder)).toEqual(["b"]);
  expect((await workspace.showAction(done.rollback_id ?? "")).state).toBe("done");
});

test("a file outside that is too large to be read after a tool is not recorded as removed", async () => {
  await using project = new Project();
  const folder = join(project.base, "conf");
  fs.mkdirSync(folder);
  for (const name of ["grown", "removed"]) fs.writeFileSync(join(folder, name), name);
  const workspace = await project.init();
  const action = await workspace.snapshotAction({ type: "run_command", payload: { command: `rm -rf ${folder}` } });
  fs.rmSync(join(folder, "removed"));
  // The file is now larger than what is kept.
  fs.truncateSync(join(folder, "grown"), 2 * 1024 ** 3 + 1);
  const { coverage } = await workspace.finishAction(action?.id ?? "");
  expect(coverage).toMatchObject({ complete: false, omitted: [{ reason: "too-large" }] });
  const eventsOf = async (name: string): Promise<number> =>
    (await workspace.log()).filter((event) => event.record_id === `outside:${join(folder, name)}`).length;
  expect([await eventsOf("removed"), await eventsOf("grown")]).toEqual([2, 1]);
});
