import { chmodSync } from "node:fs";
import { expect, it } from "vitest";
import { asSomebody } from "../helpers/as-somebody.ts";
import { Project } from "../helpers/project.ts";

/** Returns the bytes of a database that is filled with `end`. A capture looks only at the header. */
function database(end: string): Buffer {
  return Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(4_080, end)]);
}

/** Returns the bytes of a `-wal` with its header. */
function wal(end: string): Buffer {
  return Buffer.concat([Buffer.from("377f0682", "hex"), Buffer.alloc(28, end), Buffer.alloc(4_096, end)]);
}

it("Truth 80: an unreadable -wal is not recorded as deleted, and the coverage is not complete", async () => {
  await using project = new Project();
  project.write("app.db", database("1"));
  project.write("app.db-wal", wal("1"));
  await asSomebody(project, async () => {
    const workspace = await project.init();
    const before = (await workspace.history("app.db-wal")).length;
    project.write("app.db", database("2"));
    chmodSync(project.at("app.db-wal"), 0);
    const { coverage } = await workspace.snapshot();
    expect(coverage.complete).toBe(false);
    expect(coverage.omitted).toEqual(
      expect.arrayContaining([expect.objectContaining({ path: "app.db-wal", reason: "unreadable" })]),
    );
    const rows = await workspace.history("app.db-wal");
    expect([rows.length, rows.some(({ deleted }) => deleted === true)]).toEqual([before, false]);
    await workspace.close();
  });
});
