import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RecordFolder } from "../helpers/record-folder.ts";

/** `head.json` tells how long a record store's log was. `verify` reports if this file is damaged or missing. */

describe("head.json of a record store", () => {
  it("with a flipped bit in any of its bytes fails verify", async () => {
    await using records = new RecordFolder();
    await records.closed(3);
    rmSync(records.at("snapshot.json"), { force: true });
    const sound = readFileSync(records.at("head.json"));
    const silent: string[] = [];
    for (let at = 0; at < sound.length; at += 1) {
      const flipped = Buffer.from(sound);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 7));
      writeFileSync(records.at("head.json"), flipped);
      const store = await records.store({ readOnly: true });
      const { ok } = await store.verify();
      await store.close();
      if (ok) silent.push(`byte ${at}: ${flipped.toString("latin1")}`);
    }
    expect(silent).toEqual([]);
  });

  it("that is missing is noted by verify, and is written again by the next close", async () => {
    await using records = new RecordFolder();
    await records.closed(3);
    records.forgetBound();
    const store = await records.store({ readOnly: true });
    expect((await store.verify()).notes.join()).toContain("head.json is missing");
    await store.close();
    const writer = await records.store();
    await writer.upsert("k", { n: 1 });
    await writer.close();
    const again = await records.store({ readOnly: true });
    expect(await again.verify()).toMatchObject({ ok: true, notes: [] });
  });
});
