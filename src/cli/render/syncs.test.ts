import { describe, expect, it } from "vitest";
import type { SyncEventShape, SyncShape } from "../../api/sync-api.ts";
import { eventText, originOf, keptLines, stateText, syncLines } from "./syncs.ts";

/** Tests the texts about syncs that people see. */

const plain = (_format: unknown, text: string): string => text;

const sync: SyncShape = {
  ...{
    id: "0fd1a2b3-0000-4000-8000-000000000000",
    folder: "/home/me/desk",
    upstream: "https://host",
    workspace: "w-id",
  },
  ...{
    mode: "two-way-safe",
    state: "in-sync",
    peer: "https://host",
    lag: 0,
    pending: 0,
    conflicts: 0,
    applied: 9,
    head: 9,
  },
};

describe("the changes that the origin has refused", () => {
  const style = { paint: plain, shown: (path: string) => `./${path}`, worded: (text: string) => `<${text}>` };
  const one = { path: "a", reason: "filtered", why: "kept out", hint: "change it" };

  it("are listed with the reason and the hint if these are known, and the rest is counted", () => {
    expect(keptLines({ ...sync, kept_back: 1, refused: [one] }, style)).toEqual([
      "  ! ./a  stays here: kept out",
      "    <change it>",
    ]);
    const more = { ...sync, kept_back: 30, refused: [one, { ...one, path: "b" }] };
    expect(keptLines(more, { ...style, most: 1 }).at(-1)).toBe("  … and 29 more");
    expect(keptLines({ ...sync, kept_back: 2, read_only: true }, style)).toEqual([]);
    const leftOut = { left_out: 2, left_out_paths: [{ path: "a~", side: "local" as const }] };
    expect(keptLines({ ...sync, kept_back: 3, refused: [one], ...leftOut }, style).slice(2)).toEqual([
      "  - ./a~  stays here: an editor's own file",
      "  … and 1 more",
      expect.stringContaining("--editor-files sync"),
    ]);
  });
});

describe("a sync", () => {
  it.each<[Partial<SyncShape>, string]>([
    [{}, "in sync"],
    [{ read_only: true }, "up to date; the token may only read"],
    [{ read_only: true, kept_back: 2 }, "up to date; 2 changes stay here: the token may only read"],
    [{ kept_back: 1 }, "up to date; 1 change stays here: the origin refuses it"],
    [{ kept_back: 1, left_out: 1 }, "in sync, except for 1 editors' file that stays where it was made"],
    [{ kept_back: 1, git_left_out: 1 }, "in sync, except for 1 git repository's state that stays where it was made"],
    [{ kept_back: 2, secrets: 2 }, "in sync, except for 2 secrets that stay where they were made"],
    [
      { kept_back: 2, secrets: 1, erased: 1 },
      "in sync, except for 1 secret and 1 file whose content was erased that stays where it was made",
    ],
    [{ kept_back: 2, erased: 2 }, "in sync, except for 2 files whose content was erased"],
    [
      { kept_back: 3, left_out: 1, git_left_out: 2 },
      "in sync, except for 1 editors' file and 2 git repositories' states that stay where they were made",
    ],
    [{ state: "syncing", lag: 1, pending: 2 }, "syncing, 1 event to come, 2 changes to go"],
    [{ state: "offline", reason: "nobody listens", pending: 1 }, "offline: nobody listens, 1 change to go"],
    [{ state: "halted", reason: "it was\nemptied" }, "halted: it was\\nemptied"],
    [{ state: "offline", elsewhere: true, reason: "another process runs it" }, "run by another process"],
    [
      { state: "syncing", progress: { phase: "applying", done: 5_000, total: 50_000 } },
      "writing files ██░░░░░░░░░░░░░░░░░░░░░░ 10%  5,000 of 50,000",
    ],
    [{ state: "syncing", progress: { phase: "receiving", done: 5_000, total: 0 } }, "receiving 5,000"],
    [
      {
        state: "syncing",
        progress: { phase: "sending", done: 0, total: 1, bytes: { done: 50 * 1024 ** 2, total: 200 * 1024 ** 2 } },
      },
      "sending ██████░░░░░░░░░░░░░░░░░░ 25%  50 MiB of 200 MiB",
    ],
  ])("%j", (some, text) => {
    expect(stateText({ ...sync, ...some }, plain)).toBe(text);
  });

  it("is one line with the name that was asked for, and a folder's name cannot move the cursor", () => {
    const named = {
      ...sync,
      asked: "project",
      conflicts: 2,
      folder: "/home/me/\u001b[2Jdesk",
      mode: "one-way-safe",
    } as const;
    expect(syncLines([named], plain)).toEqual([
      "0fd1a2b3  /home/me/\\e[2Jdesk  ← https://host#project  in sync, 2 conflicts",
    ]);
  });

  it("is shown with the beginning of the workspace's id if no name was asked for", () => {
    const workspace = "cbd672d1-e442-468b-b15a-d11b875c0fa8";
    expect(originOf({ ...sync, workspace })).toBe("https://host#cbd672d1");
    expect(originOf({ ...sync, workspace, asked: "project" })).toBe("https://host#project");
    expect(originOf({ ...sync, workspace: "" })).toBe("https://host");
  });

  it.each<[Partial<SyncEventShape> & Record<string, unknown>, string | undefined]>([
    [{ kind: "applied", from: 1, to: 4, paths: 3 }, "← 3 paths from the origin"],
    [{ kind: "applied", from: 1, to: 4, paths: 0 }, undefined],
    [{ kind: "pushed", accepted: 1, rejected: 0 }, "→ 1 change to the origin"],
    [{ kind: "pushed", accepted: 1, rejected: 2 }, "→ 1 change to the origin, 2 overtaken, which are looked at again"],
    [
      { kind: "pushed", accepted: 0, rejected: 3, refused: 2 },
      "→ 0 changes to the origin, 1 overtaken, which are looked at again, 2 refused, which stay here",
    ],
    [{ kind: "conflict", path: "a\tb", state: "open" }, "! a\\tb: changed differently on both sides"],
    [{ kind: "conflict", path: "a", state: "settled" }, "✓ a: settled"],
    [{ kind: "degraded", reason: "too few watches" }, "note: too few watches"],
  ])("renders the event %j", (event, text) => {
    const whole = { seq: 1, id: sync.id, timestamp: "2026-01-01T00:00:00Z", ...event } as SyncEventShape;
    expect(eventText(whole, plain)).toBe(text);
  });
});
