import { describe, expect, it } from "vitest";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { FileEventLog } from "../../storage/files/file-event-log.ts";
import { nextEvents } from "../../testing/event-log-suite.ts";
import { Upstream } from "./upstream.ts";
import { FileWitnessNotes } from "./witness-notes.ts";

const PATHS = { log: "/r/upstream.wal", archive: "/r/archive", quarantine: "/r/quarantine", isCopy: true } as const;
const LINES = nextEvents(EMPTY_HEAD, 4).map(({ line }) => `${line}\n`);

function diskWith(content: string): SimDisk {
  return SimDisk.fromTree({ "/r": { folder: 0o700 }, [PATHS.log]: { content: Buffer.from(content), mode: 0o600 } });
}

describe("Upstream", () => {
  it.each([
    ["a line without its end", `${LINES[0]}${LINES[1]}${LINES[2]?.slice(0, 40)}`, 2],
    ["a line of zeros", `${LINES[0]}${"\0".repeat(200)}\n`, 1],
    ["a line that was half written", `${LINES[0]}${LINES[1]?.slice(0, 60)}${"\0".repeat(50)}\n\0\0`, 1],
  ])("the remains of a crash are moved away: %s", async (_, content, whole) => {
    const disk = diskWith(content);
    const upstream = await Upstream.open(new FileEventLog(disk, PATHS));
    expect(upstream.head.seq).toBe(whole);
    expect(upstream.cut).toMatchObject({ seq: whole + 1 });
    await upstream.append(nextEvents(upstream.head, 1));
    const again = await Upstream.open(new FileEventLog(disk.crash("forget"), PATHS));
    expect([again.head.seq, again.cut]).toEqual([whole + 1, undefined]);
  });

  it.each([
    ["a byte in the middle", LINES.join("").replace('"text":"x"', '"text":"y"')],
    ["a line that is missing", `${LINES[0]}${LINES[2]}`],
  ])("what no crash can leave is refused as damage, and nothing is cut: %s", async (_, content) => {
    const disk = diskWith(content);
    await expect(Upstream.open(new FileEventLog(disk, PATHS))).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    expect(disk.content(PATHS.log)?.toString()).toBe(content);
  });

  it("knows the hashes of its events", async () => {
    const upstream = await Upstream.open(new FileEventLog(diskWith(LINES.join("")), PATHS));
    const events = nextEvents(EMPTY_HEAD, 4);
    expect(await Promise.all([0, 1, 4, 5].map((seq) => upstream.hashAt(seq)))).toEqual([
      undefined,
      events[0]?.hash,
      events[3]?.hash,
      undefined,
    ]);
  });
});

describe("FileWitnessNotes", () => {
  const note = { workspace: "w1", sequence: 3, held: "a", told: "b", reason: "its event 3 is another one" };

  it("keeps the first note, and ignores later ones", () => {
    const disk = SimDisk.fromTree({ "/r": { folder: 0o700 } });
    const notes = new FileWitnessNotes(disk, "/r/witness.json");
    expect(notes.get()).toBeUndefined();
    notes.keep(note);
    notes.keep({ ...note, sequence: 9 });
    expect(new FileWitnessNotes(disk.crash("forget"), "/r/witness.json").get()).toEqual(note);
  });

  it("forgets its note durably on request, and keeps the next one", () => {
    const disk = SimDisk.fromTree({ "/r": { folder: 0o700 } });
    const notes = new FileWitnessNotes(disk, "/r/witness.json");
    notes.forget();
    notes.keep(note);
    notes.forget();
    expect(new FileWitnessNotes(disk.crash("forget"), "/r/witness.json").get()).toBeUndefined();
    notes.keep({ ...note, sequence: 9 });
    expect(notes.get()).toMatchObject({ sequence: 9 });
  });

  it.each(["", "{}", "null", "[1]", '{"workspace":"w1"'])(
    "refuses a damaged file, instead of ignoring it: %j",
    (content) => {
      const disk = SimDisk.fromTree({
        "/r/witness.json": { content: Buffer.from(content), mode: 0o600 },
        "/r": { folder: 0o700 },
      });
      const notes = new FileWitnessNotes(disk, "/r/witness.json");
      expect(() => notes.get()).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
    },
  );
});
