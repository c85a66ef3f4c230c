import { crc32 } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { holdsSeq } from "../../src/core/values/seq-ranges.ts";
import { FolderRig, removeSim, writeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { erasuresInForce } from "../../src/engine/facts/erasures-in-force.ts";
import { historyOf } from "../../src/engine/read/history.ts";
import { listFiles } from "../../src/engine/read/list-files.ts";
import { listErasures } from "../../src/engine/upkeep/erase.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/**
 * A folder was away while its origin erased contents and dropped the lines that say so. It reconciles in full, and learns of the
 * erasures as a folder does that sees the lines.
 */

const TOKEN = "a token that got in\n";
const PASSWORD = "a password of a file that is gone\n";
const DAY_MS = 24 * 3_600_000;

let rig: FolderRig;
afterEach(() => rig?.close());

const host = () => rig.host.workspace;
const recorded = async (): Promise<string[]> =>
  (await rig.during(listFiles(rig.desk.context, {}))).files.map(({ path }) => path);
/** Returns a content if the folder's own history serves it. */
const given = async (content: string): Promise<string | undefined> =>
  (await rig.during(rig.desk.context.blobs.get(sha256(content))))?.toString();
const stored = async (): Promise<number> =>
  (await rig.during(rig.desk.context.store.stored([TOKEN, PASSWORD].map((one) => sha256(one))))).size;

/** An origin with a folder, and a folder that follows it and is away. The password's file is gone on both sides. */
async function away(): Promise<void> {
  rig = new FolderRig();
  await rig.during(rig.host.open({ hasFolder: true }));
  const files = { "a.txt": "a\n", "keys.txt": TOKEN, "old.txt": PASSWORD, "gone.txt": "goes\n" };
  for (const [path, content] of Object.entries(files)) await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  await rig.flush();
  await rig.during(rig.host.write("old.txt", undefined));
  await rig.flush();
  expect(rig.desk.tree()).toEqual({ "a.txt": "a\n", "keys.txt": TOKEN, "gone.txt": "goes\n" });
  await rig.during(rig.desk.close());
}

/** Both contents are erased at the origin, which leaves the token's file out; another file is deleted there. */
async function erase(): Promise<string[]> {
  await rig.during(host().configure({ excludeGlobs: ["keys*"] }));
  const keys = await rig.during(host().erase({ what: "keys.txt", reason: "keys" }));
  expect(keys.untracked).toEqual(["keys.txt"]);
  const old = await rig.during(host().erase({ what: "old.txt" }));
  await rig.during(rig.host.write("gone.txt", undefined));
  await rig.during(rig.host.write("a.txt", "b\n"));
  return [keys.id ?? "", old.id ?? ""];
}

const dropLines = () => rig.during(host().compact({ dropArchive: true }));

async function returns(): Promise<void> {
  await rig.during(rig.desk.start());
  await rig.flush();
  expect(rig.desk.hold.mirror.start).toBeGreaterThan(0);
}

async function areSound(): Promise<void> {
  expect(await rig.during(verify(rig.desk.context))).toMatchObject({ ok: true, problems: [] });
  expect(await rig.during(host().verify())).toMatchObject({ ok: true, problems: [] });
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
  expect(rig.desk.sync.shape.halted).toBeUndefined();
}

/** Returns the frame as an origin without the capability `erasures` sends it. */
function ofOldOrigin(frame: Uint8Array): Uint8Array {
  const old = Buffer.from(Buffer.from(frame).toString("latin1").replace('"erasures"', '"erasurez"'), "latin1");
  old.writeUInt32BE(crc32(old.subarray(28), crc32(old.subarray(0, 24))), 24);
  return old;
}

describe("Truth 18: a folder that was away until the lines of erasures were dropped", () => {
  it("keeps the file that the origin left out, does not record it any more, and erases what the origin has erased", async () => {
    await away();
    const ids = await erase();
    await dropLines();
    await returns();
    expect(rig.desk.tree()).toEqual({ "a.txt": "b\n", "keys.txt": TOKEN });
    expect(await recorded()).toEqual(["a.txt"]);
    expect((await rig.during(listErasures(rig.desk.context))).map(({ id }) => id)).toEqual(ids);
    expect([await given(TOKEN), await given(PASSWORD)]).toEqual([undefined, undefined]);
    rig.desk.hint("keys.txt");
    await rig.flush();
    expect(rig.desk.sync.shape).toMatchObject({ erased: 1, erased_paths: [{ path: "keys.txt", side: "local" }] });
    const [last] = (await rig.during(historyOf(rig.desk.context, "keys.txt"))).slice(-1);
    expect(last).toMatchObject({ kind: "absent", cause: "erase" });
    // A folder that follows this one in turn, and is away, learns it from the record.
    const [own] = (await rig.during(erasuresInForce(rig.desk.context))).all;
    expect(holdsSeq(own?.untracked ?? [], last?.seq ?? 0)).toBe(true);
    await areSound();
    rig.desk.machine.skewMs += DAY_MS + 60_000;
    await rig.during(rig.desk.context.store.collect());
    expect(await stored()).toBe(0);
    await areSound();
    // The folder follows on, and reconciles in full once more, without a new erasure.
    await rig.during(rig.host.write("a.txt", "c\n"));
    await rig.flush();
    await rig.during(rig.desk.close());
    await returns();
    expect(rig.desk.tree()).toEqual({ "a.txt": "c\n", "keys.txt": TOKEN });
    await areSound();
  });

  it("has a sound copy of the origin's history, which says what is erased", async () => {
    await away();
    await erase();
    await dropLines();
    await returns();
    const store = await rig.during(rig.desk.machine.open());
    const copy = await rig.during(store.openById(rig.desk.context.workspaceId, { upstream: true }));
    const verified = await rig.during(copy.verify());
    expect(verified).toMatchObject({ ok: true, problems: [] });
    expect(verified.notes.join("\n")).toContain("2 contents erased");
    expect((await rig.during(copy.erasures())).map(({ total }) => total)).toEqual([1, 1]);
    await rig.during(copy.close());
    await rig.during(store.close());
  });

  it("deletes a file that the origin recorded again after the erasure, and then deleted", async () => {
    await away();
    await erase();
    await rig.during(host().configure({ excludeGlobs: [] }));
    removeSim(rig.host.machine.disk, `${FOLDER}/keys.txt`);
    await rig.during(rig.host.write("keys.txt", "another one\n"));
    await rig.during(rig.host.write("keys.txt", undefined));
    await dropLines();
    await returns();
    expect(rig.desk.tree()).toEqual({ "a.txt": "b\n" });
    expect([await given(TOKEN), await given(PASSWORD)]).toEqual([undefined, undefined]);
    await areSound();
  });

  it("keeps the file if the origin had changed it before leaving it out", async () => {
    await away();
    await rig.during(rig.host.write("keys.txt", "the next token\n"));
    await erase();
    await dropLines();
    await returns();
    rig.desk.hint("keys.txt");
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "a.txt": "b\n", "keys.txt": TOKEN });
    expect(await recorded()).toEqual(["a.txt"]);
    expect([await given(TOKEN), await given(PASSWORD)]).toEqual([undefined, undefined]);
    await areSound();
  });

  it("keeps what was edited in the folder meanwhile", async () => {
    await away();
    writeSim(rig.desk.disk, `${FOLDER}/keys.txt`, "my own\n");
    await erase();
    await dropLines();
    await rig.during(rig.desk.start());
    await rig.during(rig.desk.sync.flush().catch(() => undefined));
    expect(rig.desk.tree()).toMatchObject({ "keys.txt": "my own\n" });
  });

  it("keeps the file if the erasure was withdrawn meanwhile", async () => {
    await away();
    const [keys = ""] = await erase();
    await rig.during(host().unerase(keys));
    // Otherwise the origin would find the file, and record it again.
    removeSim(rig.host.machine.disk, `${FOLDER}/keys.txt`);
    await dropLines();
    await rig.during(rig.desk.start());
    await rig.during(rig.desk.sync.flush().catch(() => undefined));
    expect(rig.desk.tree()).toEqual({ "a.txt": "b\n", "keys.txt": TOKEN });
    expect([await given(TOKEN), await given(PASSWORD)]).toEqual([TOKEN, undefined]);
    expect(await rig.during(verify(rig.desk.context))).toMatchObject({ ok: true, problems: [] });
  });

  it("does not delete a file at the origin that is recorded there again while the folder catches up", async () => {
    await away();
    const [keys = ""] = await erase();
    await rig.during(host().unerase(keys));
    await dropLines();
    // The origin finds the file again when it is asked how far it is.
    await returns();
    const there = await rig.during(host().history("keys.txt"));
    expect(there.at(-1)).toMatchObject({ kind: "file", cause: "capture", hash: sha256(TOKEN) });
    expect(rig.desk.tree()).toEqual({ "a.txt": "b\n", "keys.txt": TOKEN });
    expect(await recorded()).toEqual(["a.txt", "keys.txt"]);
    await areSound();
  });

  it.each([1, 2, 4, 8, 16, 32])(
    "does the same if the power fails %i writes after the mirror's new start",
    async (writes) => {
      await away();
      await erase();
      await dropLines();
      let left = writes;
      let isStarted = false;
      rig.desk.machine.plan(({ name, path, reads }) => {
        if (isStarted && !reads && (left -= 1) < 0) return "stop-before";
        isStarted ||= name === "rename" && path.includes("anchor.json");
        return "go";
      });
      await rig.during(rig.desk.start());
      await rig.pass(5_000);
      expect(isStarted).toBe(true);
      await rig.during(rig.desk.close().catch(() => undefined));
      rig.desk.machine.losePower("keep");
      await returns();
      expect(rig.desk.tree()).toEqual({ "a.txt": "b\n", "keys.txt": TOKEN });
      expect(await recorded()).toEqual(["a.txt"]);
      expect([await given(TOKEN), await given(PASSWORD)]).toEqual([undefined, undefined]);
      await areSound();
    },
  );

  it("asks again if the origin's answer about erasures gets lost", async () => {
    await away();
    await erase();
    await dropLines();
    rig.desk.lost.add("ErasuresResponse");
    await returns();
    expect(rig.desk.lost.size).toBe(0);
    expect(rig.desk.tree()).toEqual({ "a.txt": "b\n", "keys.txt": TOKEN });
    expect([await given(TOKEN), await given(PASSWORD)]).toEqual([undefined, undefined]);
  });

  it("learns only the present state from an origin that cannot list its erasures", async () => {
    await away();
    await erase();
    await dropLines();
    rig.desk.damages.push(...Array.from({ length: 100 }, () => ofOldOrigin));
    await returns();
    expect(rig.desk.tree()).toEqual({ "a.txt": "b\n" });
    expect([await given(TOKEN), await given(PASSWORD)]).toEqual([TOKEN, PASSWORD]);
    await areSound();
  });
});
