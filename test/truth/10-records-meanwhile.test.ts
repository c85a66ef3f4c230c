import { expect, it } from "vitest";
import { RecordFolder } from "../helpers/record-folder.ts";

/** While others write, verify checks a record store as it was when verify began. */

const RECORDS = 300;

it.each([false, true])(
  "verify finds no problem in a store to which others write meanwhile (compacting: %s)",
  async (compacts) => {
    await using folder = new RecordFolder();
    const other = await folder.store();
    await Promise.all(Array.from({ length: RECORDS }, (_, n) => other.upsert(`k${n}`, { n, text: "x".repeat(5_000) })));
    await other.compact();
    await Promise.all(Array.from({ length: RECORDS }, (_, n) => other.upsert(`k${n}`, { n, text: "y".repeat(5_000) })));
    const store = await folder.store();
    for (let round = 0; round < 4; round += 1) {
      let isDone = false;
      const checking = store.verify().finally(() => {
        isDone = true;
      });
      for (let n = 0; !isDone; n += 1) {
        await other.upsert("later", { n });
        if (compacts && n === 1) await other.compact();
      }
      expect(await checking).toMatchObject({ ok: true, problems: [] });
    }
  },
);
