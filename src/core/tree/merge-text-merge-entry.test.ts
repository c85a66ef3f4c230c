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
    ["untouched since: as it was before", "f644b f644b f644a", "f644a", undefined],
    ["created and untouched: gone", "f644b f644b -", "-", undefined],
    ["deleted and still gone: back", "- - f644a", "f644a", undefined],
    ["as it was before already", "f644b f644a f644a", "f644a", undefined],
    ["only the mode was the work's, the content is another's", "f755a f755b f644a", "f644b", undefined],
    ["only the content was the work's, the mode is another's", "f644b f755b f644a", "f755a", undefined],
    ["both modes", "f600a f755a f644a", "f755a", "mode"],
    ["a mode and a content of each", "f755b f700c f644b", "f700c", "mode"],
    ["deleted later", "f644b - f644a", "-", "deleted"],
    ["created, then edited", "f644b f644c -", "f644c", "edited"],
    ["deleted, then created anew", "- f644c f644a", "f644c", "created"],
    ["a link instead", "f644b l777c f644a", "l777c", "kind"],
    ["links", "l777b l777c l777a", "l777c", "content"],
    ["a folder's mode", "d700 d700 d755", "d755", undefined],
    ["both a folder's mode", "d700 d711 d755", "d711", "mode"],
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

  it("contents of files are left to be merged, with the mode that they get", () => {
    expect(mergeEntry(sides("f644b f755c f644a"), "ours")).toEqual({
      contents: sides("f644b f755c f644a"),
      mode: 0o755,
    });
  });

  it("of any three: one that did not change gives the other; without a conflict nobody's preference counts", () => {
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
