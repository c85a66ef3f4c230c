import { expect, it } from "vitest";
import type { ChangeShape } from "../../../src/api/shapes.ts";
import { netChanges } from "./net-changes.ts";

const change = (path: string, type: ChangeShape["change_type"], more: Partial<ChangeShape> = {}): ChangeShape => ({
  ...{ path, change_type: type, kind: "file", before_hash: "", after_hash: "", before_size: 0, after_size: 0 },
  size_delta: 0,
  ...more,
});
const kinds = (changes: readonly ChangeShape[]) => netChanges(changes).map(({ path, kind }) => `${kind} ${path}`);

it("several changes of a path are one, from before the first to after the last", () => {
  const [one, ...others] = netChanges([
    change("a", "modified", { before_hash: "1", after_hash: "2", before_size: 1, after_size: 2 }),
    change("a", "modified", { before_hash: "3", after_hash: "4", before_size: 3, after_size: 4 }),
  ]);
  expect(others).toEqual([]);
  expect(one).toMatchObject({ kind: "modified", before: "1", after: "4", beforeSize: 1, afterSize: 4 });
  expect(one?.isInterrupted).toBe(true);
});

it("what was created stays created, and what was deleted stays deleted, whatever lies in between", () => {
  expect(kinds([change("a", "created"), change("a", "modified")])).toEqual(["created a"]);
  expect(kinds([change("a", "modified"), change("a", "deleted")])).toEqual(["deleted a"]);
  expect(kinds([change("a", "deleted"), change("a", "created")])).toEqual(["modified a"]);
});

it("what was created and deleted again is no change", () => {
  expect(kinds([change("a", "created"), change("b", "created"), change("a", "deleted")])).toEqual(["created b"]);
});

it("a renamed file is one change, at its new path", () => {
  const [one, ...others] = netChanges([
    change("old", "deleted", { renamed_to: "new", before_hash: "1", before_size: 5 }),
    change("new", "created", { from: "old", similarity: 90, after_hash: "2", after_size: 6 }),
  ]);
  expect(others).toEqual([]);
  expect(one).toMatchObject({ path: "new", kind: "renamed", from: "old", similarity: 90, before: "1", beforeSize: 5 });
});

it("changed permissions are said, alone or beside a changed content", () => {
  const bits = { before_permissions: 0o644, after_permissions: 0o755 };
  expect(netChanges([change("a", "permissions_changed", bits)])[0]).toMatchObject({
    kind: "permissions",
    permissions: { before: 0o644, after: 0o755 },
  });
  expect(netChanges([change("a", "modified", bits)])[0]).toMatchObject({ kind: "modified", permissions: {} });
  expect(netChanges([change("a", "modified", { ...bits, after_permissions: 0o644 })])[0]?.permissions).toBeUndefined();
});

it("the paths are in order, folder by folder", () => {
  expect(kinds([change("b", "created"), change("a/c", "created"), change("a", "created")])).toEqual([
    ...["created a", "created b", "created a/c"],
  ]);
});
