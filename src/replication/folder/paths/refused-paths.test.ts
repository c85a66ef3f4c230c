import { afterEach, expect, it } from "vitest";
import type { WorkspacePath } from "../../../core/values/path.ts";
import { FOLDER } from "../../../testing/sync-machine.ts";
import { FolderRig } from "../../../testing/folder-rig.ts";
import { refusedPaths, type Refusal } from "./refused-paths.ts";

let rig: FolderRig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

const of = (...refused: readonly (readonly [string, Refusal])[]) =>
  refusedPaths(new Map(refused.map(([path, refusal]) => [path as WorkspacePath, refusal])));

it("refused paths are listed in path order, each with a reason and a hint", () => {
  const [first, second, ...more] = of(
    ["b", { reason: "too-large", isDeletion: false }],
    ["a", { reason: "path", isDeletion: true }],
  );
  expect(more).toEqual([]);
  expect(first).toMatchObject({ path: "a", reason: "path", why: expect.stringContaining("does not record") });
  expect(first?.hint).toContain("chronicle sync resume");
  expect(second).toMatchObject({ path: "b", reason: "too-large", hint: expect.stringContaining("maxFileSize") });
});

it("only the first 20 of many refused paths are listed", () => {
  const many = Array.from({ length: 50 }, (_, i) => [`f${String(i).padStart(2, "0")}`, REFUSAL] as const);
  expect(of(...many).map(({ path }) => path)).toEqual(many.slice(0, 20).map(([path]) => path));
});

const REFUSAL: Refusal = { reason: "filtered", isDeletion: false };

it("a path that the origin refuses is listed with the reason, is sent again on resume, and is unlisted once deleted", async () => {
  rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  const { desk } = rig;
  // This target is longer than the target of a link may be.
  desk.disk.symlink(Buffer.alloc(4_096, "x"), `${FOLDER}/link`);
  desk.hint("link");
  await rig.flush();
  const told = { state: "in-sync", kept_back: 1, refused: [{ path: "link", reason: "path" }] };
  expect(desk.sync.shape).toMatchObject(told);
  expect(desk.sync.shape.degraded).toBe("1 change of this folder stays here: the origin refuses it");
  const refusals = () => desk.happened.filter((one) => one.kind === "pushed" && one.rejected > 0).length;
  expect(refusals()).toBe(1);
  await rig.during(desk.sync.resume());
  await rig.flush();
  expect(refusals()).toBe(2);
  expect(desk.sync.shape).toMatchObject(told);
  desk.edit("link", undefined);
  await rig.flush();
  expect(desk.sync.shape.refused).toBeUndefined();
});
