import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRecordStore } from "../../src/index.ts";

/** Makes two record stores with the same first events, and then different ones. Both have the same number of events. */
async function forked(base: string): Promise<void> {
  const first = await openRecordStore({ folder: join(base, "a") });
  await first.upsert("one", { v: 1 });
  await first.close();
  cpSync(join(base, "a"), join(base, "b"), { recursive: true });
  for (const name of ["a", "b"]) {
    const store = await openRecordStore({ folder: join(base, name) });
    // Writes until a checkpoint exists.
    for (let i = 0; !existsSync(join(base, name, "snapshot.json")); i += 1) await store.upsert("two", { v: name, i });
    await store.close();
  }
}

test("a log that was replaced by another one of the same length, with its snapshot.json, is refused by head.json", async () => {
  const base = mkdtempSync(join(tmpdir(), "chronicle-records-"));
  try {
    await forked(base);
    for (const file of readdirSync(join(base, "b")).filter((name) => name !== "head.json"))
      cpSync(join(base, "b", file), join(base, "a", file), { recursive: true });
    const store = await openRecordStore({ folder: join(base, "a") });
    await expect(store.upsert("three", { v: 3 })).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    await store.close();
  } finally {
    rmSync(base, { recursive: true });
  }
});
