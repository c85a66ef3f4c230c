import { expect, it } from "vitest";
import { parsePath } from "../../core/values/path.ts";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { isPresent, type PresentRow } from "../state/file-shape.ts";
import { provePage, type StatePage } from "./list-files.ts";

const FILES = { a: "A", "d/b": "B", "d/c": "C", "e/f": "F" };

/** Returns a page of the rows of these paths, as an index may give it. */
async function pageOf(
  replica: ReplicaRig,
  paths: readonly string[],
  page: Pick<StatePage, "folder" | "depth" | "after">,
): Promise<StatePage> {
  const seq = await replica.head();
  const rows: PresentRow[] = [];
  for (const path of paths) {
    const row = await replica.context.index.iterationAt(parsePath(path), seq);
    if (row !== undefined && isPresent(row)) rows.push(row);
  }
  expect(rows).toHaveLength(paths.length);
  return { ...page, seq, isCut: false, rows };
}

const ALL = { folder: undefined, depth: undefined, after: undefined };

it.each([
  [
    "the first path of a folder, after which it begins",
    ["d/b", "d/c", "e", "e/f"],
    { ...ALL, after: parsePath("d/b") },
  ],
  ["the last path of a folder, after which it begins", ["d/c", "e", "e/f"], { ...ALL, after: parsePath("d/c") }],
  ["a path in another folder", ["d/b", "d/c", "e/f"], { ...ALL, folder: parsePath("d") }],
  ["a path that is deeper than was asked for", ["a", "d", "d/b", "e"], { ...ALL, depth: 1 }],
])("a page that holds %s is refused", async (_, paths, page) => {
  await using replica = await ReplicaRig.open(FILES);
  await expect(provePage(replica.context, await pageOf(replica, paths, page))).rejects.toMatchObject({
    code: "INTEGRITY_VIOLATION",
  });
});

it.each([
  ["all paths", ["a", "d", "d/b", "d/c", "e", "e/f"], ALL],
  ["the paths after another path", ["d/c", "e", "e/f"], { ...ALL, after: parsePath("d/b") }],
  ["a folder", ["d/b", "d/c"], { ...ALL, folder: parsePath("d") }],
  ["one level", ["a", "d", "e"], { ...ALL, depth: 1 }],
])("a page that holds %s is proved", async (_, paths, page) => {
  await using replica = await ReplicaRig.open(FILES);
  await provePage(replica.context, await pageOf(replica, paths, page));
});

it.each([
  ["iteration", { iteration: 2 }],
  ["event", { seq: -125 }],
  ["later event", { seq: 4 }],
])("a page on which a file of the baseline has another %s is refused", async (_, other) => {
  await using replica = await ReplicaRig.open(FILES);
  const page = await pageOf(replica, ["a", "d", "d/b", "d/c", "e", "e/f"], ALL);
  const rows = page.rows.map((row, i) => (i === 2 ? { ...row, ...other } : row));
  await expect(provePage(replica.context, { ...page, rows })).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
});
