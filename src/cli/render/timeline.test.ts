import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { type RecentItem, RECENT_KINDS } from "../../api/recent-api.ts";
import { paintFor } from "../../process/printable.ts";
import { type TimelineContext, timelineLines } from "./timeline.ts";

const NOW = Date.parse("2026-07-01T12:00:00Z");
const WIDTHS = [80, 100, 120, 200];
const WHO = ["agent", "sub-agent", "person", "command", "replica", "origin", "unknown"] as const;

/** Measures the printed width of the characters in this test: those from U+2E80 on take two columns. */
function printedWidth(line: string): number {
  return [...stripVTControlCharacters(line)].reduce(
    (sum, char) => sum + ((char.codePointAt(0) ?? 0) >= 0x2e80 ? 2 : 1),
    0,
  );
}

function context(columns: number | undefined, options = ""): TimelineContext {
  return {
    paint: paintFor(columns !== undefined),
    worded: (text) => text.replace("chronicle ", `chronicle ${options}`),
    io: { out: { isTerminal: columns !== undefined, columns: columns ?? 80 }, now: () => NOW },
  };
}

const item = (more: Partial<RecentItem> = {}): RecentItem => ({
  ...{ kind: "run", id: "4f049dae11", short_id: "4f049dae", timestamp: new Date(NOW - 240_000).toISOString() },
  ...{ summary: "npm test", actor: "human", who: "command", changed: 1, back: "chronicle undo 4f049dae" },
  ...{ from_seq: 1, to_seq: 2 },
  paths: [{ path: "a.txt", change: "modified" }],
  ...more,
});

const TITLES = [
  "npm test",
  "a very long title ".repeat(20),
  "漢字仮名".repeat(30),
  "🚀 한국어 and more ".repeat(9),
  "x\ty\u001b[31m\nz",
  "ab漢",
];
const BACKS = ["chronicle restore seq:149149", "chronicle undo", "chronicle transaction rollback 4f049dae", ""];

function madeUpItems(): RecentItem[] {
  return RECENT_KINDS.flatMap((kind, at) =>
    TITLES.map((summary, n) => {
      const path = n % 2 === 0 ? "src/短い/名前.ts" : `${"deep/".repeat(n * 4)}file.ts`;
      return item({
        ...{
          kind,
          summary,
          who: WHO[(at + n) % WHO.length] ?? "agent",
          actor: n % 2 ? "claude" : "エージェント-of-a-long-name",
        },
        timestamp: new Date(NOW - 59_000 * 61 ** (n % 4) - 1).toISOString(),
        paths: [
          { path, change: "modified" as const },
          { path: "b", change: "deleted" as const },
        ],
        ...(n % 3 === 0 ? {} : { lines: { added: 12_345, removed: 1_234_567 } }),
        back: BACKS[(at + n) % BACKS.length] ?? "",
        ...(kind === "turn" ? { actions: 12, back: "chronicle undo --turn prompt-bbbb-2" } : {}),
        ...(kind === "edit" ? { changed_since: new Date(NOW - 9e9).toISOString() } : {}),
        ...(n === 4 ? { undone: true, undone_by: "4f049dae11" } : {}),
        ...(n === 5
          ? {
              beneath: [
                {
                  id: "4f049dae22",
                  timestamp: item().timestamp,
                  summary,
                  actor: "claude",
                  who: "sub-agent",
                  state: "failed",
                  changed: 123_456,
                  undone: true,
                },
              ] as const as unknown as NonNullable<RecentItem["beneath"]>,
            }
          : {}),
      });
    }),
  );
}

describe("the list on a terminal", () => {
  const all = madeUpItems();
  const lists = [
    all,
    ...all.filter((_, at) => at % 5 === 0).map((one) => [one]),
    [item({ back: `chronicle undo --turn ${"p".repeat(70)}` })],
  ];

  it.each(WIDTHS)("has no row that is longer than %i columns", (width) => {
    for (const options of ["", "-w some-name ", `--store ${"/deep".repeat(30)} `])
      for (const isWithBack of [true, false])
        for (const items of lists) {
          const lines = timelineLines(context(width, options), items, { isWithBack });
          expect(lines.length).toBeGreaterThan(items.length);
          expect(lines.filter((line) => printedWidth(line) > width)).toEqual([]);
        }
  });

  it("leaves out the lines first, then the paths, where titles would be short, and keeps the commands", () => {
    const long = item({ summary: "build everything and then some more", lines: { added: 1, removed: 2 } });
    const short = item({ lines: { added: 1, removed: 2 } });
    const head = (width: number, one: RecentItem): string =>
      stripVTControlCharacters(timelineLines(context(width), [one], { isWithBack: true })[0] ?? "").replaceAll(
        / {2,}/g,
        "|",
      );
    expect(head(80, short)).toBe("when|who|what|paths|lines|chronicle …");
    const few = { ...long, paths: [{ path: "src/a-longer-name.ts", change: "modified" as const }] };
    expect(head(86, few)).toBe("when|who|what|paths|chronicle …");
    expect(head(80, few)).toBe("when|who|what|chronicle …");
    expect(head(200, few)).toBe("when|who|what|paths|lines|id|the way back");
    const [, row = ""] = timelineLines(context(80), [few], { isWithBack: true });
    expect(stripVTControlCharacters(row)).toBe(
      "4 min ago  command  run: build everything and then some more  undo 4f049dae",
    );
  });

  it("says who undid an item and writes times in full only where there is room", () => {
    const undone = item({ undone: true, undone_by: "12345678ab", back: "" });
    const row = (width: number): string =>
      stripVTControlCharacters(timelineLines(context(width), [undone], { isWithBack: true })[1] ?? "");
    expect(row(80)).toMatch(/^4 min ago .* \(undone\)$/);
    expect(row(100)).toMatch(/^4 minutes ago .* \(undone by 12345678\)$/);
  });
});

describe("the titles of the list", () => {
  const title = (more: Partial<RecentItem>, width?: number): string =>
    stripVTControlCharacters(
      timelineLines(context(width), [item({ paths: [], ...more })], { isWithBack: true })[1] ?? "",
    );

  it("name the kind of an inverted operation once", () => {
    const undo = { kind: "undo", summary: "undo of restore: restore to snapshot 2" } as const;
    expect(title(undo)).toContain("  undo of restore to snapshot 2  ");
    expect(title({ kind: "redo", summary: "redo of undo: undo of restore: restore to 1" })).toContain(
      "  redo of undo of restore to 1  ",
    );
    expect(title({ kind: "undo", summary: "undo of run: run tests" })).toContain("  undo of run: run tests  ");
  });

  it("say that only a part of the work is undone, also if the text is cut", () => {
    const part = { kind: "turn", actions: 2, partly_undone: true } as const;
    expect(title({ ...part, summary: "tidy up" })).toContain("  turn: tidy up · 2 actions · partly undone  ");
    const long = { ...part, summary: "tidy up ".repeat(20) };
    expect(title(long, 130)).toContain("… · 2 actions · partly undone  ");
    expect(title(long, 80)).toContain("… · partly undone  ");
  });

  it("say how work ended that did not succeed, also if the text is cut", () => {
    const failed = { outcome: "failed", exit_code: 2 } as const;
    expect(title(failed)).toContain("  run: npm test · failed, exit code 2  ");
    expect(title({ outcome: "failed", signal: "SIGTERM" })).toContain("  run: npm test · failed, ended by SIGTERM  ");
    expect(title({ kind: "action", outcome: "denied" })).toContain("  action: npm test · denied  ");
    expect(title({ ...failed, summary: "npm test ".repeat(20), partly_undone: true }, 130)).toContain(
      "… · failed, exit code 2 · partly undone  ",
    );
    expect(title({ exit_code: 0 })).toContain("  run: npm test  ");
  });

  it("have colour only for the words about how work ended", () => {
    const [, failed = ""] = timelineLines(context(120), [item({ outcome: "failed", exit_code: 2 })], {
      isWithBack: true,
    });
    expect(failed).toContain("run: npm test\u001b[31m · failed, exit code 2\u001b[39m");
    const [, done = ""] = timelineLines(context(120), [item()], { isWithBack: true });
    expect(done).not.toContain("\u001b[31m");
  });

  it("count the actions of a turn, also if its text is cut", () => {
    expect(title({ kind: "turn", summary: "tidy up", actions: 2 })).toContain("  turn: tidy up · 2 actions  ");
    expect(title({ kind: "turn", summary: "tidy up", actions: 1 })).toContain("  turn: tidy up  ");
    expect(title({ kind: "turn", summary: "tidy up ".repeat(20), actions: 2 }, 80)).toContain("… · 2 actions  ");
  });
});

it("elsewhere, the list has all columns in their full width, whatever the terminal's width is", () => {
  const summary = "long title ".repeat(10).trim();
  const one = item({ summary, lines: { added: 1, removed: 2 }, undone: true, undone_by: "12345678ab" });
  expect(timelineLines(context(undefined), [one], { isWithBack: true })[1]).toBe(
    `4 minutes ago  command  run: ${summary}  a.txt  +1 −2  4f049dae  (undone by 12345678)`,
  );
});

describe("the graph of the list", () => {
  it("has a lane for each work that ran at the same time, also beneath a row", () => {
    const git = { path: ".git", head_before: { commit: "a".repeat(40) }, head_after: { commit: "b".repeat(40) } };
    const items = [
      item({ lane: 0, lanes_beside: [], git: [{ ...git, refs: [], also: [], messages: ["reset: moving to b"] }] }),
      item({ lane: 1, lanes_beside: [0] }),
      item({ lane: 20, lanes_beside: [0, 2] }),
    ];
    const rows = timelineLines(context(undefined), items, { isWithBack: true });
    expect(rows.map((row) => row.slice(0, 19).trimEnd())).toEqual(["", "*", "·", "│ *", "│   │             *"]);
    expect(rows[2]).toContain("git: reset: moving to b (HEAD aaaaaaa → bbbbbbb, detached)");
    for (const columns of WIDTHS)
      for (const row of timelineLines(context(columns), items, { isWithBack: true }))
        expect(printedWidth(row)).toBeLessThanOrEqual(columns);
    expect(timelineLines(context(undefined), [item()], { isWithBack: true })[0]).toMatch(/^when/);
  });
});
