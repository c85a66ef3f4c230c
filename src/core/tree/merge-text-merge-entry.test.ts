import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import { mergeEntry, type EntrySides } from "./merge-text.ts";
import { parsePath } from "../values/path.ts";

const path = parsePath("x");

/** `f644a`: a file of mode 644 with the content `a`; `l…`: a link, `d755`: a folder, `-`: nothing. */
function entry(text: string): Entry | undefined {
  const [, kind, mode = "0", content = ""] = /^([fld])(\d+)(\w*)$/.exec(text) ?? [];
  if (kind === undefined) return undefined;
  const kinds = { f: "file", l: "symlink", d: "dir" } as const;
  const hash = kind === "d" ? undefined : sha256(content);
  return { path, kind: kinds[kind as "f"], mode: Number.parseInt(mode, 8), size: content.length, mtimeMs: 0, hash };
}

function sides(text: string): EntrySides {
  const [base = "", ours = "", theirs = ""] = text.split(" ");
  return { base: entry(base), ours: entry(ours), theirs: entry(theirs) };
}

describe("mergeEntry", () => {
  it.each([
    ["untouched since: gets the state before the work", "f644b f644b f644a", "f644a", undefined],
    ["created and untouched since: is removed", "f644b f644b -", "-", undefined],
    ["deleted and still absent: comes back", "- - f644a", "f644a", undefined],
    ["already in the state before the work", "f644b f644a f644a", "f644a", undefined],
    ["the work changed the mode, and another actor the content", "f755a f755b f644a", "f644b", undefined],
    ["the work changed the content, and another actor the mode", "f644b f755b f644a", "f755a", undefined],
    ["both changed the mode", "f600a f755a f644a", "f755a", "mode"],
    ["both changed the mode, and the other actor the content", "f755b f700c f644b", "f700c", "mode"],
    ["deleted later", "f644b - f644a", "-", "deleted"],
    ["created, then edited", "f644b f644c -", "f644c", "edited"],
    ["deleted, then created anew", "- f644c f644a", "f644c", "created"],
    ["replaced by a link later", "f644b l777c f644a", "l777c", "kind"],
    ["a link that both made lead elsewhere", "l777b l777c l777a", "l777c", "content"],
    ["a folder's mode that only the work changed", "d700 d700 d755", "d755", undefined],
    ["a folder's mode that both changed", "d700 d711 d755", "d711", "mode"],
  ])("%s", (_name, given, wanted, conflict) => {
    expect(mergeEntry(sides(given), "ours")).toEqual({
      entry: entry(wanted),
      ...(conflict === undefined ? {} : { conflict }),
    });
    const other = mergeEntry(sides(given), "theirs");
    if (conflict === undefined) expect(other).toEqual({ entry: entry(wanted) });
    else if (conflict === "mode") expect("entry" in other && other.entry?.mode).toBe(sides(given).theirs?.mode);
    else expect(other).toEqual({ entry: sides(given).theirs, conflict });
  });

  it("two changed contents of a file are returned to be merged, with the mode of the result", () => {
    expect(mergeEntry(sides("f644b f755c f644a"), "ours")).toEqual({
      contents: sides("f644b f755c f644a"),
      mode: 0o755,
    });
  });

  it("a side that equals the base gives the other side, and the preference matters only in conflicts", () => {
    const any = fc.constantFrom("f644a", "f644b", "f755a", "f755b", "l777a", "l777b", "d755", "d700", "-");
    fc.assert(
      fc.property(any, any, any, (base, ours, theirs) => {
        const all = { base: entry(base), ours: entry(ours), theirs: entry(theirs) };
        if (base === ours) expect(mergeEntry(all, "ours")).toEqual({ entry: all.theirs });
        if (base === theirs) expect(mergeEntry(all, "ours")).toEqual({ entry: all.ours });
        const [one, other] = [mergeEntry(all, "ours"), mergeEntry(all, "theirs")];
        expect("conflict" in one).toBe("conflict" in other);
        if (!("conflict" in one)) expect(one).toEqual(other);
      }),
    );
  });
});
