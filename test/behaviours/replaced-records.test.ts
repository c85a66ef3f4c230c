import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRecordStore } from "../../src/index.ts";

/** Two stores of records with one beginning, which go on differently for as many events. */
async function forked(base: string): Promise<void> {
  const first = await openRecordStore({ folder: join(base, "a") });
  await first.upsert("one", { v: 1 });
  await first.close();
  cpSync(join(base, "a"), join(base, "b"), { recursive: true });
  for (const name of ["a", "b"]) {
    const store = await openRecordStore({ folder: join(base, name) });
    // The last write is the one that leaves a checkpoint.
    for (let i = 0; !existsSync(join(base, name, "snapshot.json")); i += 1) await store.upsert("two", { v: name, i });
    await store.close();
  }
}

test("another log of the same length, with its snapshot.json, beside the head.json that was there", async () => {
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
