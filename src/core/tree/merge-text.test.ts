import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_MERGE_BYTES, mergeText } from "./merge-text.ts";
import { processorTime } from "../../testing/processor-time.ts";

function merged(base: string, ours: string, theirs: string, prefer: "ours" | "theirs" = "ours") {
  const result = mergeText({ base: Buffer.from(base), ours: Buffer.from(ours), theirs: Buffer.from(theirs) }, prefer);
  return result === undefined ? undefined : { text: result.content.toString(), conflicts: result.conflicts };
}

describe("mergeText", () => {
  it.each([
    ["only ours", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nc\n", "A\nb\nc\n", 0],
    ["only theirs", "a\nb\nc\n", "a\nb\nc\n", "a\nb\nC\n", "a\nb\nC\n", 0],
    ["both sides, apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", 0],
    ["both the same", "a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", "a\nX\nc\n", 0],
    ["the same line", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "a\nX\nc\n", 1],
    ["adjacent lines", "a\nb\nc\nd\n", "a\nX\nc\nd\n", "a\nb\nY\nd\n", "a\nX\nc\nd\n", 1],
    ["deleted and edited", "a\nb\nc\n", "a\nc\n", "a\nY\nc\n", "a\nc\n", 1],
    ["insertions at one place", "a\nb\n", "a\nX\nb\n", "a\nY\nb\n", "a\nX\nb\n", 1],
    ["insertions apart", "a\nb\nc\n", "X\na\nb\nc\n", "a\nb\nc\nY\n", "X\na\nb\nc\nY\n", 0],
    ["carriage returns", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n", 0],
    ["other line ends are another line", "a\nb\nc\n", "a\r\nb\nc\n", "a\nb\nC", "a\r\nb\nC", 0],
    ["no newline at the end", "a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC", 0],
    ["a newline at the end, added", "a\nb\nc", "A\nb\nc", "a\nb\nc\n", "A\nb\nc\n", 0],
    ["a byte order mark", "\ufeffa\nb\nc\n", "\ufeffa\nb\nC\n", "\ufeffA\nb\nc\n", "\ufeffA\nb\nC\n", 0],
    ["from nothing", "", "X\n", "Y\n", "X\n", 1],
    ["to nothing", "a\nb\n", "", "a\nb\n", "", 0],
    [
      "names of object properties are lines like any other",
      "__proto__\nx\ny\n",
      "__proto__\nx\nY\n",
      "constructor\nx\ny\n",
      "constructor\nx\nY\n",
      0,
    ],
  ])("%s", (_name, base, ...[ours, theirs, text, conflicts]) => {
    expect(merged(base, ours, theirs)).toEqual({ text, conflicts });
  });

  it("conflicts are taken from the preferred side, clean places from both", () => {
    const [base, ours, theirs] = ["a\nb\nc\nd\ne\n", "A\nb\nX\nd\ne\n", "a\nb\nY\nd\nE\n"];
    expect(merged(base, ours, theirs)).toEqual({ text: "A\nb\nX\nd\nE\n", conflicts: 1 });
    expect(merged(base, ours, theirs, "theirs")).toEqual({ text: "A\nb\nY\nd\nE\n", conflicts: 1 });
  });

  it("contents that are no text or too large are not merged", () => {
    expect(merged("a\n", "a\0\n", "b\n")).toBeUndefined();
    const bytes = { base: Uint8Array.of(0xff), ours: Buffer.from("a"), theirs: Buffer.from("b") };
    expect(mergeText(bytes, "ours")).toBeUndefined();
    const large = Buffer.alloc(MAX_MERGE_BYTES + 1, "a\n");
    expect(mergeText({ base: large, ours: large, theirs: large }, "ours")).toBeUndefined();
  });

  it("large texts with edits at both ends merge fast, and an entirely different text is one conflict", () => {
    const base = Array.from({ length: 200_000 }, (_, i) => `line ${i}\n`);
    const ours = base.with(0, "first\n").join("");
    const theirs = base.with(-1, "last\n").join("");
    const spent = processorTime();
    expect(merged(base.join(""), ours, theirs)?.text).toBe(base.with(0, "first\n").with(-1, "last\n").join(""));
    const other = Array.from({ length: 20_000 }, (_, i) => `other ${i}\n`).join("");
    expect(merged(base.join(""), other, theirs)?.conflicts).toBe(1);
    expect(spent()).toBeLessThan(5_000);
  });
});

/**
 * Generates a text of distinct lines, and edits of some lines by two actors. The edits of one actor are never adjacent
 * to edits of the other.
 */
const edited = fc
  .array(fc.constantFrom("none", "mine", "theirs", "gap"), { minLength: 1, maxLength: 40 })
  .chain((owners) =>
    fc.tuple(
      fc.constant(owners),
      fc.array(fc.constantFrom("edit", "drop", "add"), { minLength: owners.length, maxLength: owners.length }),
    ),
  );

type Owner = "none" | "mine" | "theirs" | "gap";

/** Builds the text with the edits of `who`. After each line comes a line that neither side changes. */
function build(owners: readonly Owner[], kinds: readonly string[], who: ReadonlySet<string>): string {
  const lines: string[] = ["start\n"];
  owners.forEach((owner, i) => {
    const kind = who.has(owner) ? kinds[i] : undefined;
    if (kind === "edit") lines.push(`edited ${i}\n`);
    else if (kind !== "drop") lines.push(`line ${i}\n`);
    if (kind === "add") lines.push(`added ${i}\n`);
    lines.push(`between ${i}\n`);
  });
  return lines.join("");
}

describe("properties of mergeText", () => {
  it("undoing edits leaves the edits of others alone if they are not adjacent", () => {
    fc.assert(
      fc.property(edited, ([owners, kinds]) => {
        const before = build(owners, kinds, new Set());
        const after = build(owners, kinds, new Set(["mine"]));
        const present = build(owners, kinds, new Set(["mine", "theirs"]));
        const wanted = build(owners, kinds, new Set(["theirs"]));
        expect(merged(after, present, before)).toEqual({ text: wanted, conflicts: 0 });
      }),
    );
  });

  const anyText = fc
    .array(fc.constantFrom("a\n", "b\n", "c\r\n", "\n", "d"), { maxLength: 12 })
    .map((all) => all.join(""));

  it("a side that equals the base gives the other, equal sides give themselves, and the preference matters only in conflicts", () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, (base, ours, theirs) => {
        expect(merged(base, base, theirs)).toEqual({ text: theirs, conflicts: 0 });
        expect(merged(base, ours, base)).toEqual({ text: ours, conflicts: 0 });
        expect(merged(base, ours, ours)).toEqual({ text: ours, conflicts: 0 });
        const [one, other] = [merged(base, ours, theirs), merged(base, ours, theirs, "theirs")];
        expect(one?.conflicts).toBe(other?.conflicts);
        if (one?.conflicts === 0) expect(one).toEqual(other);
      }),
    );
  });
});
