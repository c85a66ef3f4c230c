import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { TurnShape } from "../../../api/action-shapes.ts";
import type { BlameShape } from "../../../api/file-api.ts";
import { paintFor, widthOf } from "../../../process/printable.ts";
import { blameLines } from "./blame.ts";
import { turnLines } from "./turns.ts";

const NOW = Date.parse("2026-07-01T12:00:00Z");
const WIDTHS = [80, 100, 120, 200];
const same = (path: string): string => path;

const context = (columns?: number) => ({
  paint: paintFor(columns !== undefined),
  io: { out: { isTerminal: columns !== undefined, columns: columns ?? 80 }, now: () => NOW },
});

const plain = (lines: readonly string[]): string[] => lines.map((line) => stripVTControlCharacters(line));

function turn(n: number, more: Partial<TurnShape> = {}): TurnShape {
  const [turn, short_id] = [`prompt-${n}-and-more`, `prompt-${n}`];
  return {
    ...{ turn, short_id, session: "s", actor: "claude", started: new Date(NOW - 61 ** n * 1000).toISOString() },
    ...{ seq: n, prompt: "tidy up the parser", prompt_state: "kept", transcript: null, message: null, actions: 1 },
    ...{ changed: 3, paths: ["src/parser.ts"], undone: "no" },
    ...more,
  };
}

describe("turns", () => {
  const prompt = "please 漢字 make the parser read numbers with a fraction, and write tests for it";
  const paths = [`${"deep/".repeat(12)}a.ts`];
  const all = [
    turn(0),
    turn(1, { prompt, paths, undone: "part", actor: "an-agent-with-a-long-name" }),
    turn(2, { prompt_state: "hidden", prompt: null, paths: [], changed: 0 }),
    turn(3, { prompt, paths: ["短い/名前.ts"], undone: "yes", changed: 1_234 }),
  ];

  it.each(WIDTHS)("have no row that is longer than %i columns", (width) => {
    for (const some of [all, ...all.map((one) => [one])])
      expect(plain(turnLines(context(width), some, same)).filter((line) => widthOf(line) > width)).toEqual([]);
  });

  it("shorten names, times and paths on a narrow terminal, and only there", () => {
    const [, narrow = ""] = plain(turnLines(context(80), all, same));
    expect(narrow).toMatch(/^2 {2}1 min ago +an-agent-wi… {2}prompt-1 {2}please 漢字.*…/);
    const [, full = ""] = turnLines(context(), all, same);
    expect(full).toMatch(/^2 {2}1 minute ago +an-agent-with-a-long-name .* and 2 more {2}\(partly undone\)$/);
  });
});

describe("blame", () => {
  const by = { action: null, operation: null, session: null, turn: null, replica: undefined };
  const origin = (more: object) => ({
    kind: "recorded",
    path: "a.ts",
    iteration: 3,
    cause: "action",
    actor: "",
    timestamp: NOW - 185_000,
    ...more,
  });
  const origins = [
    origin({ kind: "nobody" }),
    origin({ actor: "an-agent-with-a-long-name", action: "4f049dae11", turn: "prompt-b-2" }),
    origin({ kind: "between", first_iteration: 1, timestamp: null, path: "some/where/else/before.ts" }),
  ];
  const texts = ["const 漢字 = 1;", `\tif (${"x".repeat(300)})`, "短".repeat(100), "", "end"];
  const lines = texts.map((text, at) => ({ line: at + 1, origin: at % 3, text }));
  const found = {
    ...by,
    path: "a.ts",
    iteration: 3,
    total_lines: 5,
    origins,
    lines,
    notes: [],
  } as unknown as BlameShape;

  it.each(WIDTHS)("has no line that is longer than %i columns", (width) => {
    const shown = plain(blameLines(context(width), found, same));
    expect(shown.filter((line) => widthOf(line) > width || line.includes("\t"))).toEqual([]);
  });

  it("says shortly who and when on a narrow terminal, and leaves the lines alone elsewhere", () => {
    const [first, second = ""] = plain(blameLines(context(80), found, same));
    expect(first?.replaceAll(/ {2,}/g, "|")).toBe("|nobody recorded|3m|1|const 漢字 = 1;".replace(/^\|/, "|"));
    expect(second.replaceAll(/ {2,}/g, "|")).toMatch(/^4f049dae\|an-agent-wi…\|3m\|2\|if \(x+…$/);
    const full = blameLines(context(), found, same);
    expect(full[0]).toContain("by nobody that was recorded");
    expect(full[1]).toMatch(/prompt-b .*3 minutes ago +2 {2}\tif \(x{300}\)$/);
  });
});
